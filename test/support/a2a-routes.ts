// Every way to ask for an operation of A2A, in both generations and over both bindings: by the tables of the door itself.
import { OLD_NAMES, type NewMethod } from "../../src/a2a/dialect";
import { ADDRESSES } from "../../src/a2a/rest";
import type { Wire } from "./mcp";

/** `params` in the shapes of 1.0. */
export type Call = {
  readonly params: Wire;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly id?: string;
};

export type A2aRequest = {
  readonly method: string;
  /** Under the endpoint. */
  readonly path: string;
  /** null takes a header away. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly body?: object;
};

export type Route = {
  readonly method: NewMethod;
  readonly binding: "JSON-RPC" | "REST";
  readonly how: string;
  readonly request: (call: Call) => A2aRequest;
};

const oldPart = (part: Wire): Wire => {
  if (part.raw === undefined) return { kind: part.text === undefined ? "data" : "text", ...part };
  return { kind: "file", file: { bytes: part.raw, mimeType: part.mediaType, name: part.filename } };
};
const oldSend = ({ message: { role: _, parts, ...message }, configuration, ...others }: Wire): Wire => ({
  ...others,
  message: {
    ...message,
    kind: "message",
    role: "user",
    parts: parts.map(oldPart),
  },
  configuration: { pushNotificationConfig: configuration.taskPushNotificationConfig },
});
const oldConfig = ({ taskId, id }: Wire): Wire => ({ id: taskId, pushNotificationConfigId: id });
/** The params as 0.3 has them, where that is not the same. */
const asOld: Readonly<Partial<Record<NewMethod, (params: Wire) => Wire>>> = {
  SendMessage: oldSend,
  SendStreamingMessage: oldSend,
  CreateTaskPushNotificationConfig: ({ taskId, ...config }) => ({ taskId, pushNotificationConfig: config }),
  GetTaskPushNotificationConfig: oldConfig,
  ListTaskPushNotificationConfigs: oldConfig,
  DeleteTaskPushNotificationConfig: oldConfig,
};

const rpc = (how: string, method: NewMethod, name: string, isNew: boolean): Route => ({
  method,
  binding: "JSON-RPC",
  how,
  request: ({ params, headers, id = "1" }) => ({
    method: "POST",
    path: "",
    headers: { "A2A-Version": isNew ? "1.0" : null, ...headers },
    body: { jsonrpc: "2.0", id, method: name, params: isNew ? params : (asOld[method]?.(params) ?? params) },
  }),
});

const rest = (pattern: RegExp, verb: string, method: NewMethod): Route => ({
  method,
  binding: "REST",
  how: `${verb} ${pattern.source}`,
  request({ params, headers }) {
    const left = { ...params };
    const path = pattern.source.replace(/\(\?<(\w+)>[^)]*\)|\\(.)|[$^]/g, (_, group: string, escaped: string) => {
      if (!group) return escaped ?? "";
      delete left[group];
      return encodeURIComponent(params[group]);
    });
    const query = Object.entries<Wire>(left).filter(([, value]) => typeof value !== "object");
    return {
      method: verb,
      path: verb === "POST" ? path : `${path}?${new URLSearchParams(Object.fromEntries(query))}`,
      headers: { "A2A-Version": "1.0", ...headers },
      ...(verb === "POST" ? { body: left } : {}),
    };
  },
});

export const routes: readonly Route[] = [
  ...Object.entries(OLD_NAMES).flatMap(([name, old]) => {
    const method = name as NewMethod;
    const older = old === null ? [] : [rpc("0.3", method, old, false), rpc("mixed", method, name, false)];
    return [rpc("1.0", method, name, true), ...older];
  }),
  ...ADDRESSES.flatMap(([pattern, served]) =>
    Object.entries(served).map(([verb, operation]) => rest(pattern, verb, operation)),
  ),
];
