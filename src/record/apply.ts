import type { JsonText } from "../task/json";
import type { RecordApplied, RecordChanges, RecordCommand, RecordContent } from "./command";
import { membersOf, objectOf } from "./members";
import { isTerminal, type RecordEntry, type RecordStatus, type StoredRecord, type TaskFields } from "./record";
import { isLarger } from "./record-size";

/** What an entry says happened; its place and time are added as it is written. */
type Event = RecordEntry["event"];

/** What a command changes; "terminal" when it may not. Null when it means nothing. */
type Effect = { readonly after: Partial<StoredRecord>; readonly events: readonly Event[] } | "terminal" | null;

/** A record at its beginning. `namespace` is a name. */
export function createRecord(
  { id, namespace, owner }: Pick<StoredRecord, "id" | "namespace" | "owner">,
  { task, document, ttlMs }: RecordContent,
  now: number,
): { readonly record: StoredRecord; readonly entries: readonly RecordEntry[] } {
  const settledAt = task && isTerminal(task.status) ? now : null;
  const times = { createdAt: now, updatedAt: now, settledAt, ttlMs };
  const record = { id, namespace, owner, version: 1, ...times, task, document, seq: 1 };
  const event = { kind: "created", status: task?.status ?? null } as const;
  return { record, entries: [{ seq: 1, at: now, version: 1, event }] };
}

/** Total: whatever comes when, the answer says what it came to. Where nothing changes, the record is the same reference. */
export function applyCommand(record: StoredRecord, command: RecordCommand, now: number): RecordApplied {
  if ("version" in command && command.version !== null && command.version !== record.version) {
    return { kind: "stale", record, entries: [] };
  }
  const effect = effectOf(record, command);
  if (effect === "terminal") return { kind: "terminal", record, entries: [] };
  if (effect === null) return { kind: "unchanged", record, entries: [] };
  const written = write(record, effect.after, effect.events, now);
  if (command.maxBytes !== undefined && isLarger(written.record, command.maxBytes)) {
    return { kind: "too_large", record, entries: [] };
  }
  return { kind: "written", ...written };
}

function effectOf(record: StoredRecord, command: RecordCommand): Effect {
  switch (command.kind) {
    case "replace": {
      const { task, document, ttlMs } = command.content;
      const whole = record.task && { ...record.task, ...task };
      return change(record, { task: whole, document, ...(ttlMs === undefined ? {} : { ttlMs }) });
    }
    case "merge":
      return merge(record, command.changes);
    case "set_status":
      if (!record.task) return null;
      if (isTerminal(record.task.status)) return "terminal";
      return merge(record, { ...command.changes, task: { ...command.changes.task, status: command.status } });
    case "set_questions":
      return isLive(record) ? ask(record.task, command.requests) : null;
    case "resolve":
      return isLive(record) ? resolve(record.task, command.responses) : null;
    case "cancel":
      return isLive(record) ? change(record, { task: { ...record.task, status: "cancelled" } }) : null;
  }
}

/** A status that is final stays; whatever else a record has may still be corrected. */
function change(record: StoredRecord, after: Partial<StoredRecord>): Effect {
  const before = record.task?.status ?? null;
  const status = after.task ? after.task.status : before;
  if (before !== null && isTerminal(before) && status !== before) return "terminal";
  // Whoever waits for the end of the task looks for one kind of entry, whichever way it was cancelled.
  const kind = status === "cancelled" && before !== "cancelled" ? "cancelled" : "written";
  return { after, events: [{ kind, status }] };
}

function merge(record: StoredRecord, changes: RecordChanges): Effect {
  const task = record.task && mergedTask(record.task, changes.task ?? {});
  const document = changes.document === undefined ? record.document : joined(record.document, changes.document);
  const ttlMs = changes.ttlMs === undefined ? record.ttlMs : changes.ttlMs;
  const isSame = task === record.task && document === record.document && ttlMs === record.ttlMs;
  return isSame ? null : change(record, { task, document, ttlMs });
}

function mergedTask(before: TaskFields, changes: Partial<TaskFields>): TaskFields {
  const fields = Object.keys(changes) as (keyof TaskFields)[];
  return fields.every((field) => changes[field] === before[field]) ? before : { ...before, ...changes };
}

/** Members of one object set in another, one by one: parallel merges of different keys all survive. */
function joined(before: JsonText, changes: JsonText): JsonText {
  const all = membersOf(before);
  const set = membersOf(changes);
  const isSame = Array.from(set, ([key, value]) => all.get(key) === value).every(Boolean);
  return isSame ? before : objectOf(new Map([...all, ...set]));
}

/** What is asked joins what is open; a question under the same key takes the other's place. */
function ask(task: TaskFields, requests: JsonText): Effect {
  const keys = [...membersOf(requests).keys()];
  const inputRequests = joined(task.inputRequests, requests);
  const isSame = inputRequests === task.inputRequests && task.status === "input_required";
  if (keys.length === 0 || isSame) return null;
  return { after: { task: { ...task, status: "input_required", inputRequests } }, events: [{ kind: "asked", keys }] };
}

/** An answer is taken once: by then its question is no longer open. */
function resolve(task: TaskFields, responses: JsonText): Effect {
  const open = new Map(membersOf(task.inputRequests));
  const taken = [...membersOf(responses)].filter(([key]) => open.delete(key));
  if (taken.length === 0) return null;
  const status: RecordStatus = open.size === 0 ? "working" : task.status;
  const inputResponses = objectOf(new Map([...membersOf(task.inputResponses), ...taken]));
  return {
    after: { task: { ...task, status, inputRequests: objectOf(open), inputResponses } },
    events: taken.map(([key, response]) => ({ kind: "answered", key, response })),
  };
}

function write(
  record: StoredRecord,
  after: Partial<StoredRecord>,
  events: readonly Event[],
  now: number,
): { readonly record: StoredRecord; readonly entries: readonly RecordEntry[] } {
  const version = record.version + 1;
  // A clock that was set back, or another machine's, must not make a record look older than it was.
  const at = Math.max(now, record.updatedAt);
  const changed = { ...record, ...after };
  const settledAt = record.settledAt ?? (changed.task && isTerminal(changed.task.status) ? at : null);
  const entries = events.map((event, index) => ({ seq: record.seq + 1 + index, at, version, event }));
  return { record: { ...changed, version, updatedAt: at, settledAt, seq: record.seq + events.length }, entries };
}

const isLive = (record: StoredRecord): record is StoredRecord & { readonly task: TaskFields } =>
  record.task !== null && !isTerminal(record.task.status);
