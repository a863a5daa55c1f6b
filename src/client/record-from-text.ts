import { itemsOf, membersOf } from "../record/members";
import type { RecordEntry, Revision, StoredRecord, TaskFields } from "../record/record";
import type { JsonText } from "../task/json";

// Answers of the store API as values. What is a caller's own stays the text that it was stored as.

type Members = ReadonlyMap<string, JsonText>;

export function recordFrom(text: JsonText): StoredRecord {
  const members = membersOf(text);
  const task = textOf(members, "task");
  return {
    ...plain<Omit<StoredRecord, "task" | "document">>(members, RECORD_FACTS),
    task: task === "null" ? null : taskFrom(membersOf(task)),
    document: textOf(members, "document"),
  };
}

export function entryFrom(text: JsonText): RecordEntry {
  const members = membersOf(text);
  const event = membersOf(textOf(members, "event"));
  const response = event.get("response");
  return {
    ...plain<Omit<RecordEntry, "event">>(members, ["seq", "at", "version"]),
    event: {
      ...plain<object>(
        event,
        [...event.keys()].filter((name) => name !== "response"),
      ),
      ...(response === undefined ? {} : { response }),
    } as RecordEntry["event"],
  };
}

export function revisionFrom(text: JsonText): Revision {
  const members = membersOf(text);
  return {
    ...plain<Omit<Revision, "document">>(members, ["version", "at"]),
    document: textOf(members, "document"),
  };
}

/** The items of the list that an answer holds under a name. */
export const listFrom = <T>(text: JsonText, name: string, item: (text: JsonText) => T): readonly T[] =>
  itemsOf(textOf(membersOf(text), name)).map(item);

const RECORD_FACTS = [
  "id",
  "namespace",
  "owner",
  "version",
  "createdAt",
  "updatedAt",
  "settledAt",
  "ttlMs",
  "seq",
] as const;

const taskFrom = (members: Members): TaskFields => ({
  ...plain<Pick<TaskFields, "status" | "statusMessage" | "pollIntervalMs">>(members, [
    "status",
    "statusMessage",
    "pollIntervalMs",
  ]),
  inputRequests: textOf(members, "inputRequests"),
  inputResponses: textOf(members, "inputResponses"),
  result: orNone(textOf(members, "result")),
  error: orNone(textOf(members, "error")),
});

/** The server is trusted with the types of what it made itself. */
const plain = <T>(members: Members, names: readonly string[]): T =>
  Object.fromEntries(names.map((name) => [name, JSON.parse(textOf(members, name)) as unknown])) as T;

const textOf = (members: Members, name: string): JsonText => members.get(name) ?? "null";

const orNone = (text: JsonText): JsonText | null => (text === "null" ? null : text);
