import { membersOf } from "../record/members";
import type { RecordChanges } from "../record/command";
import type { TaskFields } from "../record/record";
import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import type { StoreContext } from "./deps";
import { given } from "./given";
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
export function postedRecord(c: StoreContext, { ttlMs, task }: Body): RecordChanges {
  const members = membersOf(c.var.posted.text);
  const fields = task ? taskFieldsOf(task, members.get("task") ?? "{}") : undefined;
  return given({ ttlMs, task: fields, document: members.get("document") });
}

function taskFieldsOf({ status, statusMessage, pollIntervalMs }: Partial<TaskFieldsBody>, text: JsonText) {
  const { inputRequests, inputResponses, result, error } = Object.fromEntries(membersOf(text));
  const values = { inputRequests, inputResponses, result: orNone(result), error: orNone(error) };
  return given({ status, statusMessage, pollIntervalMs, ...values }) satisfies Partial<TaskFields>;
}

/** In JSON, no result and the result `null` are the same. */
const orNone = (text: JsonText | undefined): JsonText | null | undefined => (text === "null" ? null : text);
