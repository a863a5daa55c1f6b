import { membersOf } from "../record/members";
import type { TaskFields } from "../record/record";
import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import type { StoreContext } from "./deps";
import type { TaskFieldsBody } from "./schemas";

/** The very text of a member that the body must have. */
export function memberOf(c: StoreContext, name: string): JsonText {
  const text = membersOf(c.var.posted.text).get(name);
  if (text === undefined) throw new TaskError("invalid", `body.${name} is required.`);
  return text;
}

type Body = {
  readonly ttlMs?: number | null | undefined;
  readonly task?: Partial<TaskFieldsBody> | null | undefined;
};

/** What a body says of a record: our own fields as they were checked, the caller's values as the text it sent. */
export function postedRecord(body: Body, text: JsonText) {
  const members = membersOf(text);
  const document = members.get("document");
  const task = members.get("task");
  return {
    ...(body.ttlMs === undefined ? {} : { ttlMs: body.ttlMs }),
    ...(body.task && task !== undefined ? { task: taskFieldsOf(body.task, task) } : {}),
    ...(document === undefined ? {} : { document }),
  };
}

function taskFieldsOf({ status, statusMessage, pollIntervalMs }: Partial<TaskFieldsBody>, text: JsonText) {
  const { inputRequests, inputResponses, result, error } = Object.fromEntries(membersOf(text));
  const given: Partial<TaskFields> = {
    ...(status === undefined ? {} : { status }),
    ...(statusMessage === undefined ? {} : { statusMessage }),
    ...(pollIntervalMs === undefined ? {} : { pollIntervalMs }),
    ...(inputRequests === undefined ? {} : { inputRequests }),
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(result === undefined ? {} : { result: orNone(result) }),
    ...(error === undefined ? {} : { error: orNone(error) }),
  };
  return given;
}

/** In JSON, no result and the result `null` are the same. */
const orNone = (text: JsonText): JsonText | null => (text === "null" ? null : text);
