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

export const OLD: Wire = "a2a/0.3";

/** The generation a method's name is of: those of 0.3 have slashes. */
export const wireOf = (method: Method): Wire => (method.includes("/") ? OLD : "a2a/1.0");

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
 * The method that a JSON-RPC request means, by its name in the generation the request is of. Who says 1.0 gets that. Else
 * the name tells. A name of 1.0 from a caller who does not say so is read by its params: there are servers that took the
 * new names for the old shapes. `legacy`: whether 0.3 is spoken at all.
 */
export function methodOf(name: string, params: JsonObject, version: Version, legacy: boolean): Method {
  if (version === "0.3" && !legacy) throw notLegacy();
  const isNew = Object.hasOwn(OLD_NAMES, name);
  const isOld = (Object.values(OLD_NAMES) as readonly unknown[]).includes(name);
  if (!isNew && (!isOld || version === "1.0")) {
    const hint = isOld ? " in A2A 1.0; without the header A2A-Version the request is of 0.3" : "";
    throw new A2aError("method_not_found", `There is no method ${JSON.stringify(name.slice(0, 100))}${hint}.`);
  }
  const old = isNew ? OLD_NAMES[name as NewMethod] : (name as OldMethod);
  if (old === null || (isNew && (version === "1.0" || (looksNew(name, params) ?? !legacy)))) return name as NewMethod;
  if (!legacy) throw notLegacy();
  return old;
}

const notLegacy = (): A2aError =>
  new A2aError("version_not_supported", 'Only A2A 1.0 is spoken here; send the header "A2A-Version: 1.0".');

/** Whether the params of a method are those of 1.0; undefined where both generations write the same. */
function looksNew(method: string, params: JsonObject): boolean | undefined {
  if (method.endsWith("Message")) {
    const { role } = isObject(params["message"]) ? params["message"] : {};
    return typeof role === "string" && role.startsWith("ROLE_");
  }
  if (!method.includes("PushNotificationConfig")) return undefined;
  return Object.hasOwn(params, "taskId") && !Object.hasOwn(params, "pushNotificationConfig");
}
