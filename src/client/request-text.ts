import type { RecordChanges } from "../record/command";
import { isJson } from "../record/members";
import type { As } from "../store-api/api";
import { isRecordId } from "../store-api/record-rules";
import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";

// Requests as text. What the server would refuse in words is let go to it; what would not get there as it was meant is
// refused here, as it would be in process.

/** Null for what cannot be the id of a record: such a path would name something else. */
export const recordPath = (namespace: string, id: string, below = ""): string | null =>
  isRecordId(id) ? `${recordsPath(namespace)}/${encodeURIComponent(id)}${below}` : null;

export const recordsPath = (namespace: string): string => `${namespacePath(namespace)}/records`;

export function namespacePath(namespace: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(namespace)) return namespace;
  throw new TaskError("not_found", "No such namespace.");
}

/** For whom, in a query. */
export function whose({ owner, any }: As = {}): Readonly<Record<string, string | undefined>> {
  if (typeof owner === "string" && !owner.isWellFormed())
    throw new TaskError("invalid", "An owner is well-formed text.");
  return {
    any: any ? "true" : undefined,
    unowned: owner === null ? "true" : undefined,
    owner: owner === null ? undefined : owner,
  };
}

export function headerText(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text)) return text;
  throw new TaskError("invalid", "An idempotency key has 1 to 255 visible ASCII characters.");
}

type Members = Readonly<Record<string, JsonText | undefined>>;

/** An object of what is there. */
export const objectText = (members: Members): JsonText =>
  `{${Object.entries(members)
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(",")}}`;

/** A value of ours as JSON. What JSON would turn into null is no number that anybody meant. */
export function plain(value: string | number | null | undefined): JsonText | undefined {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TaskError("invalid", `${value} is no number here.`);
  return value === undefined ? undefined : JSON.stringify(value);
}

/** A caller's JSON goes out as it is, so it must be some. */
export function valid(text: JsonText): JsonText;
export function valid(text: JsonText | undefined): JsonText | undefined;
export function valid(text: JsonText | undefined): JsonText | undefined {
  if (text === undefined || (typeof text === "string" && text.isWellFormed() && isJson(text))) return text;
  throw new TaskError("invalid", "A value is not the text of JSON.");
}

/** What a record has of its caller's. */
export function contentText({ task, document, ttlMs }: RecordChanges, { withStatus = true } = {}): Members {
  return {
    ttlMs: plain(ttlMs),
    document: valid(document),
    task: task && objectText({ ...taskText(task), ...(withStatus ? { status: plain(task.status) } : {}) }),
  };
}

const taskText = (task: NonNullable<RecordChanges["task"]>): Members => ({
  statusMessage: plain(task.statusMessage),
  pollIntervalMs: plain(task.pollIntervalMs),
  inputRequests: valid(task.inputRequests),
  inputResponses: valid(task.inputResponses),
  result: task.result === null ? "null" : valid(task.result),
  error: task.error === null ? "null" : valid(task.error),
});
