import type { AgentCard } from "@a2a-js/sdk";
import type { Context } from "hono";
import { encodeBase64url } from "../base64url";
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

/**
 * The card's own address (A2A 1.0 §8.2), for pages of any origin: it says nothing that is not public. To who says 1.0
 * it is pure; to who says nothing, one that both generations can read.
 */
export function cardRoutes(deps: A2aDeps) {
  const seen = new Map<string, string>();

  async function serveCard({ url, headers }: Request): Promise<Response> {
    const card = await agentCard(deps, new URL(url).origin);
    const body = JSON.stringify(await written(card, headers.get("a2a-version")?.trim() ?? "", deps));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
    const etag = `"${encodeBase64url(new Uint8Array(digest))}"`;
    if (seen.size >= REMEMBERED) seen.clear();
    if (!seen.has(etag)) seen.set(etag, new Date(deps.clock()).toUTCString());
    const known = (headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    const unchanged = known.includes(etag) || known.includes("*");
    return new Response(unchanged ? null : body, {
      status: unchanged ? 304 : 200,
      headers: {
        ...(unchanged ? {} : { "Content-Type": "application/json" }),
        "Cache-Control": `public, max-age=${MAX_AGE_S}`,
        ETag: etag,
        "Last-Modified": seen.get(etag) ?? "",
        Vary: "A2A-Version",
      },
    });
  }

  return async (c: Context): Promise<Response> => {
    const { raw } = c.req;
    let response: Response;
    if (raw.method === "OPTIONS") {
      const asks = { "Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Headers": "*" };
      response = new Response(null, { status: 204, headers: asks });
    } else if (raw.method !== "GET" && raw.method !== "HEAD") {
      response = new Response("This takes GET.\n", { status: 405, headers: { Allow: "GET, HEAD, OPTIONS" } });
    } else {
      response = await serveCard(raw).catch((thrown: unknown) =>
        errorResponse(explainThrown(thrown, deps.log), restBinding(raw.headers)),
      );
    }
    response.headers.set("Access-Control-Allow-Origin", "*");
    response.headers.set("Access-Control-Expose-Headers", "ETag");
    return response;
  };
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
