import type { RequestId } from "../../json-rpc";
import type { JsonText } from "../../task/json";
import { serverInfo } from "../server-info";

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** Every result names its type (base §ResultType) and who answers (base §Per-response protocol fields). */
export function toResult(resultType: "complete" | "input_required" | "task", fields: object): JsonText {
  const meta = "_meta" in fields && typeof fields._meta === "object" ? fields._meta : {};
  return JSON.stringify({ ...fields, resultType, _meta: { ...meta, [SERVER_INFO]: serverInfo } });
}

/** How a listening client tells its streams apart: the listen request's id, of the same type (subscriptions §Receiving). */
export const subscriptionMeta = (id: RequestId) => ({ [SUBSCRIPTION_ID]: id });
