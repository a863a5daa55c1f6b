import { isObject, type JsonObject } from "../task/json";
import type { Wire } from "./deps";
import { A2aError } from "./errors";
import type { Method } from "./schemas";

/** What each method was called in 0.3; null for one it did not have. */
export const OLD_NAMES = {
  SendMessage: "message/send",
  SendStreamingMessage: "message/stream",
  GetTask: "tasks/get",
  ListTasks: null,
  CancelTask: "tasks/cancel",
  SubscribeToTask: "tasks/resubscribe",
  CreateTaskPushNotificationConfig: "tasks/pushNotificationConfig/set",
  GetTaskPushNotificationConfig: "tasks/pushNotificationConfig/get",
  ListTaskPushNotificationConfigs: "tasks/pushNotificationConfig/list",
  DeleteTaskPushNotificationConfig: "tasks/pushNotificationConfig/delete",
  GetExtendedAgentCard: "agent/getAuthenticatedExtendedCard",
} as const satisfies Readonly<Record<string, Method | null>>;

export type NewMethod = keyof typeof OLD_NAMES;
type OldMethod = NonNullable<(typeof OLD_NAMES)[NewMethod]>;

/** The generation a request is of, and what it calls the method there. */
export type Dialect = { readonly wire: Wire; readonly method: Method };

/** `null`: the caller said nothing, which stands for 0.3 (A2A 1.0 §3.6.2). */
export type Version = "1.0" | "0.3" | null;

/** Of the header or else the query. A patch number does not matter (A2A 1.0 §3.6). */
export function versionOf(request: Request): Version {
  const asked =
    request.headers.get("a2a-version")?.trim() || new URL(request.url).searchParams.get("A2A-Version")?.trim() || "";
  if (asked === "") return null;
  const [, version] = /^(\d+\.\d+)(?:\.\d+)*$/.exec(asked) ?? [];
  if (version === "1.0" || version === "0.3") return version;
  throw new A2aError("version_not_supported", `A2A version ${JSON.stringify(asked.slice(0, 20))} is not spoken here.`);
}

/**
 * What a JSON-RPC request means. Who says 1.0 gets that. Else the method's name tells: those of 0.3 have slashes. A
 * name of 1.0 from a caller who does not say so is read by its params: there are servers that took the new names for the old
 * shapes. `legacy`: whether 0.3 is spoken at all.
 */
export function dialectOf(method: string, params: JsonObject, version: Version, legacy: boolean): Dialect {
  const isNew = Object.hasOwn(OLD_NAMES, method);
  const isOld = (Object.values(OLD_NAMES) as readonly unknown[]).includes(method);
  if (version === "0.3" && !legacy) throw notLegacy();
  if (isNew) {
    const [name, old] = [method as NewMethod, OLD_NAMES[method as NewMethod]];
    const shape = version === "1.0" || old === null ? "new" : shapeOf(name, params);
    if (old === null || shape === "new" || (shape === "either" && !legacy)) return { wire: "a2a/1.0", method: name };
    if (!legacy) throw notLegacy();
    return { wire: "a2a/0.3", method: old };
  }
  if (isOld && version !== "1.0") {
    if (!legacy) throw notLegacy();
    return { wire: "a2a/0.3", method: method as OldMethod };
  }
  const hint = isOld ? " in A2A 1.0; without the header A2A-Version the request is of 0.3" : "";
  throw new A2aError("method_not_found", `There is no method ${JSON.stringify(method.slice(0, 100))}${hint}.`);
}

const notLegacy = (): A2aError =>
  new A2aError("version_not_supported", 'Only A2A 1.0 is spoken here; send the header "A2A-Version: 1.0".');

/** The shape of the params; `either` where both generations write the same. */
function shapeOf(method: NewMethod, params: JsonObject): "new" | "old" | "either" {
  switch (method) {
    case "SendMessage":
    case "SendStreamingMessage": {
      const { role } = isObject(params["message"]) ? params["message"] : {};
      return typeof role === "string" && role.startsWith("ROLE_") ? "new" : "old";
    }
    case "CreateTaskPushNotificationConfig":
    case "GetTaskPushNotificationConfig":
    case "ListTaskPushNotificationConfigs":
    case "DeleteTaskPushNotificationConfig":
      return Object.hasOwn(params, "taskId") && !Object.hasOwn(params, "pushNotificationConfig") ? "new" : "old";
    case "ListTasks":
      return "new";
    case "GetTask":
    case "CancelTask":
    case "SubscribeToTask":
    case "GetExtendedAgentCard":
      return "either";
  }
}
