import type { OwnerName, Server } from "../server.ts";
import { exchange, REQUEST_ID, type Answered, type Exchange, type Fields, type Reply } from "../wire.ts";

/** A part has one of them. */
export type A2aPart = { readonly text?: string; readonly data?: Fields };
export type A2aMessage = { readonly messageId: string; readonly parts: readonly A2aPart[] };

/** What both versions write the same of a task. */
export type A2aTask = {
  readonly id: string;
  readonly status: { readonly state: string; readonly message?: A2aMessage };
  readonly artifacts?: readonly { readonly parts: readonly A2aPart[] }[];
  /** Left out where only a change is told. */
  readonly history?: readonly A2aMessage[];
  readonly metadata?: Fields;
};

/** An event of a stream. */
export type A2aUpdate = {
  readonly task?: A2aTask;
  readonly statusUpdate?: Pick<A2aTask, "status">;
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly A2aPart[] } };
};

export type A2aVersion = "1.0" | "0.3";

/** What the versions call things, and how each says whether the client waits. */
export const METHODS = {
  "1.0": { send: "SendMessage", get: "GetTask", configuration: (waits: boolean) => ({ returnImmediately: !waits }) },
  "0.3": { send: "message/send", get: "tasks/get", configuration: (waits: boolean) => ({ blocking: waits }) },
} as const;

let messages = 0;

/** No two messages are called the same, whoever sends them. */
export const nextMessage = (): string => `message-${(messages += 1)}`;

type More = Pick<Exchange, "onResult" | "waits" | "signal"> & {
  /** Its idempotency key. */
  readonly key?: string | undefined;
};

/** A request over JSON-RPC. The methods of 0.3 have slashes, and its clients do not say which version they speak. */
export function requestA2a(
  server: Server,
  owner: OwnerName,
  method: string,
  params: Fields,
  { key, ...more }: More = {},
): Promise<Reply> {
  const headers = {
    Authorization: `Bearer ${owner}`,
    ...(method.includes("/") ? {} : { "A2A-Version": "1.0" }),
    ...(key === undefined ? {} : { "Idempotency-Key": key }),
  };
  return exchange(server, {
    path: "/a2a",
    headers,
    body: { jsonrpc: "2.0", id: REQUEST_ID, method, params },
    ...more,
  });
}

/** A message in the words of a version. */
export function messageIn(version: A2aVersion, messageId: string, parts: readonly A2aPart[], taskId?: string): Fields {
  const isOld = version === "0.3";
  const old = parts.map((part) => ({ kind: part.text === undefined ? "data" : "text", ...part }));
  return {
    messageId,
    role: isOld ? "user" : "ROLE_USER",
    parts: isOld ? old : parts,
    ...(isOld ? { kind: "message" } : {}),
    ...(taskId === undefined ? {} : { taskId }),
  };
}

/** The task that an answer is, or has: 1.0 names it in what was sent, and 0.3 says of what kind it is. */
export function taskIn({ message }: Answered): A2aTask | undefined {
  const { result } = message ?? {};
  const task = result?.["task"] ?? result;
  return (task as Fields | undefined)?.["status"] === undefined ? undefined : (task as A2aTask);
}
