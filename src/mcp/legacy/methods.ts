import type { Answer, Method } from "../../json-rpc";
import type { JsonText } from "../../task/json";
import { readParams } from "../schemas";
import type { Call } from "./call";
import { callWithoutTask } from "./call-tool";
import { listTools } from "./list-tools";
import { CallToolParams, SetLevelParams } from "./schemas";

/** What all older revisions answer in the same way. */
export const commonMethods = {
  ping: (): JsonText => "{}",
  "logging/setLevel": setLevel,
  "tools/list": listTools,
  "tools/call": (call: Call): Promise<Answer> => callWithoutTask(call, readParams(call, CallToolParams)),
} satisfies Readonly<Record<string, Method<Call>>>;

/** For the session from now on; without it `info` and above are sent. */
async function setLevel(call: Call): Promise<JsonText> {
  const { level } = readParams(call, SetLevelParams);
  // Until now nothing was stored for the session, and anybody may open one.
  await call.deps.tasks.admit(call.principal);
  await call.deps.sessions.setLogLevel(call.session, level);
  return "{}";
}
