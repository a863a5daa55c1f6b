// Owner A with tasks that were made over A2A too, and owner B, who is after them over A2A.
import { encodeBase64url } from "../../src/base64url";
import type { Principal } from "../../src/service/principal";
import type { A2aRequest } from "./a2a-routes";
import type { Wire } from "./mcp";
import { neverGiven as neverGivenByMcp, world, type Who, type World } from "./victim";

/** What a caller is given, or makes up, that must be worth nothing to another. */
export const kinds = ["task", "page", "key", "context", "message", "config"] as const;
export type Kind = (typeof kinds)[number];

export type A2aWorld = Pick<World, "own" | "identified" | "streams"> & {
  readonly secrets: Readonly<Record<Kind, readonly string[]>>;
  /** A's task that asks, and was made over A2A. */
  readonly asking: string;
  readonly send: (who: Who, request: A2aRequest) => Promise<Response>;
  /** A request of A2A 1.0 in JSON-RPC; what it came to. */
  readonly call: (who: Who, method: string, params: Wire, headers?: A2aRequest["headers"]) => Promise<Wire>;
  /** All of A's tasks as A sees them: what was said, and who is told of them. */
  readonly seen: () => Promise<string>;
};

export const HOOK = "https://example.com/hook";

const made = (): string => encodeBase64url(crypto.getRandomValues(new Uint8Array(24)));

export async function a2aWorld(identified: boolean): Promise<A2aWorld> {
  const before = await world(identified);
  const { served, token, own, streams } = before;
  const send: A2aWorld["send"] = async (who, { method, path, headers, body }) => {
    const { token: bearer } = token(who);
    const all = {
      "Content-Type": "application/json",
      ...(bearer ? { Authorization: `Bearer ${bearer}` } : {}),
      ...headers,
    };
    const kept = Object.entries(all).filter((header): header is [string, string] => header[1] !== null);
    const init = { method, headers: kept, ...(body ? { body: JSON.stringify(body) } : {}) };
    return served.app.request(`http://localhost/a2a${path}`, init);
  };
  const call: A2aWorld["call"] = async (who, method, params, more = {}) => {
    const headers = { "A2A-Version": "1.0", ...more };
    const body = { jsonrpc: "2.0", id: 1, method, params };
    const answer = await send(who, { method: "POST", path: "", headers, body });
    return ((await answer.json()) as Wire).result;
  };

  const [context, message, config] = [made(), made(), made()];
  const begun = await call("a", "SendMessage", {
    message: {
      role: "ROLE_USER",
      messageId: message,
      contextId: context,
      parts: [{ data: { skill: "secretive", arguments: {} } }],
    },
    configuration: { taskPushNotificationConfig: { id: config, url: HOOK, token: "a-token" } },
  });
  const asking = begun.task.id as string;
  const ids = [...before.taskIds, asking];
  const page = identified ? [(await call("a", "ListTasks", { pageSize: 1 })).nextPageToken as string] : [];
  const a: Principal = identified
    ? { kind: "identified", issuer: "holdfast:token", subject: "owner-a", scopes: ["client"], expiresAt: null }
    : { kind: "anonymous" };
  const seen = async () =>
    JSON.stringify(await Promise.all(ids.map((id) => served.tasks.look(a, id, { conversation: true }))));
  const secrets = {
    // Whoever has one of these may use it, where callers cannot be told apart.
    task: identified ? [...before.secrets.task, asking] : [],
    page,
    key: before.secrets.key,
    context: [context],
    message: [message],
    config: [config],
  };
  if (
    Object.values(secrets)
      .flat()
      .some((secret) => !secret)
  )
    throw new Error(`A secret is missing: ${JSON.stringify(secrets)}`);
  return { own, identified, streams, secrets, asking, send, call, seen };
}

/** Well formed and of the same length, and nobody was ever given it. */
export const neverGiven = (kind: Kind, secret: string): string =>
  neverGivenByMcp(kind === "task" ? "task" : "key", secret);
