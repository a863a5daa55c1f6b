import type { AgentCard } from "@a2a-js/sdk";
import { publicRoutes } from "../cors";
import { digestOf } from "../service/digest";
import { isObject, type JsonObject } from "../task/json";
import { ask, type Handler } from "./ask";
import { agentCard } from "./card";
import type { A2aDeps } from "./deps";
import { explainThrown } from "./errors";
import { restBinding } from "./rest";
import type { Method } from "./schemas";
import { errorResponse } from "./serve";

/** How long a client may keep the card. Tools declared over the API come and go. */
const MAX_AGE_S = 300;

/** What an isolate remembers of when it first saw a card; there is one for each way it is addressed. */
const REMEMBERED = 100;

/** The card's own address (A2A 1.0 §8.2). To who says 1.0 it is pure; to who says nothing, one that both generations can read. */
export function cardRoutes(deps: A2aDeps) {
  const seen = new Map<string, string>();
  const routes = publicRoutes();
  routes.get("/", async ({ req: { raw } }) => {
    const { url, headers } = raw;
    const card = await agentCard(deps, new URL(url).origin);
    const body = JSON.stringify(await written(card, headers.get("a2a-version")?.trim() ?? "", deps));
    const etag = `"${await digestOf(body)}"`;
    if (seen.size >= REMEMBERED) seen.clear();
    if (!seen.has(etag)) seen.set(etag, new Date(deps.clock()).toUTCString());
    const known = (headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    const unchanged = known.includes(etag) || known.includes("*");
    return new Response(unchanged ? null : body, {
      status: unchanged ? 304 : 200,
      headers: {
        ...(!unchanged && { "Content-Type": "application/json" }),
        "Cache-Control": `public, max-age=${MAX_AGE_S}`,
        ETag: etag,
        "Last-Modified": seen.get(etag) ?? "",
        Vary: "A2A-Version",
        "Access-Control-Expose-Headers": "ETag",
      },
    });
  });
  routes.all("/", (c) => c.text("This takes GET.\n", 405, { Allow: "GET, HEAD, OPTIONS" }));
  routes.onError((thrown, c) => errorResponse(explainThrown(thrown, deps.log), restBinding(c.req.raw.headers)));
  return routes;
}

async function written(card: AgentCard, version: string, { config }: A2aDeps): Promise<JsonObject> {
  // The SDK writes cards only as what these methods answer.
  const handler = { getAuthenticatedExtendedAgentCard: async () => card } as unknown as Handler;
  const as = async (method: Method): Promise<JsonObject> => (await ask(handler, { method, params: {} })) as JsonObject;
  const modern = await as("GetExtendedAgentCard");
  if (!config.a2a.legacy || /^1\.0(\.|$)/.test(version)) return modern;
  const old = await as("agent/getAuthenticatedExtendedCard");
  return /^0\.3(\.|$)/.test(version) ? old : merged(modern, old);
}

/** Where both have an object, with the members of both; else as 0.3 has it, which 1.0 has no other word for. */
function merged(modern: JsonObject, old: JsonObject): JsonObject {
  const members = Object.entries(old).map(([name, value]) => {
    const other = modern[name];
    return [name, isObject(value) && isObject(other) ? merged(other, value) : value] as const;
  });
  return { ...modern, ...Object.fromEntries(members) };
}
