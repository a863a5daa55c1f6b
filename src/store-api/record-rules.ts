import type { RecordChanges, RecordContent } from "../record/command";
import { isJson, isJsonObject } from "../record/members";
import { STATUSES, type Namespace, type RecordStatus, type TaskFields } from "../record/record";
import { isLarger } from "../record/record-size";
import type { Limits } from "../service/limits";
import { TaskError, tooLarge } from "../task/errors";
import type { JsonText } from "../task/json";
import type { RecordDraft } from "./api";
import { given } from "./given";

/** In UTF-16 units. */
const MAX_ID_LENGTH = 512;

const BLANK: TaskFields = {
  status: "working",
  statusMessage: null,
  pollIntervalMs: null,
  inputRequests: "{}",
  inputResponses: "{}",
  result: null,
  error: null,
};

const OBJECT = [isObjectText, "the text of a JSON object"] as const;
const JSON_OR_NULL = [(value: unknown) => value === null || isJsonText(value), "null or JSON text"] as const;

/** What each field of a task may be, in words for whoever sent something else. */
const FIELDS: {
  readonly [K in keyof TaskFields]: readonly [fits: (value: TaskFields[K]) => boolean, wants: string];
} = {
  status: [isStatus, `one of ${STATUSES.join(", ")}`],
  statusMessage: [(value) => value === null || isText(value), "null or well-formed text"],
  pollIntervalMs: [(value) => value === null || isWhole(value, 1), "null or a whole number above 0, of ms"],
  inputRequests: OBJECT,
  inputResponses: OBJECT,
  result: JSON_OR_NULL,
  error: JSON_OR_NULL,
};

/** Whether it can be the id of a record. `.` and `..` would be read as steps of a path. */
export const isRecordId = (id: unknown): id is string =>
  isText(id) && id.length >= 1 && id.length <= MAX_ID_LENGTH && id !== "." && id !== "..";

export function mustBeId(id: unknown): asserts id is string {
  check(isRecordId(id), `An id has 1 to ${MAX_ID_LENGTH} characters of well-formed Unicode, and is not "." or "..".`);
}

export function isStatus(value: unknown): value is RecordStatus {
  return STATUSES.includes(value as RecordStatus);
}

/** A new record's content, whole: what was left out has its default, and null stays null. */
export function contentOf(draft: RecordDraft, namespace: Namespace, limits: Limits): RecordContent {
  const { task, document = "{}", ttlMs = null } = checked(draft, namespace, limits);
  const content = { task: namespace.kind === "task" ? { ...BLANK, ...task } : null, document, ttlMs };
  if (isLarger(content, limits.resultLimitBytes)) throw recordTooLarge(limits);
  return content;
}

/** The same for what takes a record's place, but that its status stays where none is given. */
export function taskInPlace(task: Partial<TaskFields> | undefined): Omit<TaskFields, "status"> & Partial<TaskFields> {
  const { status: _, ...blank } = BLANK;
  return { ...blank, ...task };
}

/** Valid, and only what was given: a field that is there without a value is left out. */
export function checked(changes: RecordChanges, { kind, zeroTtl }: Namespace, { maxTtlMs }: Limits): RecordChanges {
  const { task, document, ttlMs } = changes;
  check(kind === "task" || task === undefined, "This namespace keeps documents, which have no fields of a task.");
  if (document !== undefined) mustBeByKey(document, "document");
  if (ttlMs !== undefined && ttlMs !== null) mustBeWhole("ttlMs", ttlMs);
  const isUnlimited = ttlMs === null || (ttlMs === 0 && zeroTtl === "never");
  return given({
    task: task === undefined ? task : checkedTask(task),
    document,
    ttlMs: isUnlimited ? null : ttlMs && Math.min(ttlMs, maxTtlMs ?? Infinity),
  });
}

/** The text of a JSON object. */
export function mustBeByKey(text: JsonText, what: string): void {
  check(isObjectText(text), `${what} must be ${OBJECT[1]}.`);
}

export function check(holds: boolean, message: string): asserts holds {
  if (!holds) throw new TaskError("invalid", message);
}

export function mustBeWhole(what: string, value: unknown, least = 0): void {
  check(isWhole(value, least), `${what} must be a whole number, at least ${least}.`);
}

const isWhole = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= least;

export const recordTooLarge = ({ resultLimitBytes }: Limits): TaskError =>
  tooLarge("The record", "RESULT_LIMIT_BYTES", resultLimitBytes);

function checkedTask(task: Partial<TaskFields>): Partial<TaskFields> {
  check(typeof task === "object" && task !== null, "task must be an object.");
  const given = (Object.keys(FIELDS) as (keyof TaskFields)[]).filter((field) => task[field] !== undefined);
  for (const field of given) {
    const [fits, wants] = FIELDS[field];
    check(fits(task[field] as never), `${field} must be ${wants}.`);
  }
  return Object.fromEntries(given.map((field) => [field, task[field]]));
}

/** What is no Unicode would not come back from storage as it went in. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed();
}

/** `JSON.stringify` escapes a lone surrogate; one that stands there as such is not valid in any encoding. */
function isJsonText(value: unknown): value is JsonText {
  return isText(value) && isJson(value);
}

function isObjectText(value: unknown): value is JsonText {
  return isText(value) && isJsonObject(value);
}
