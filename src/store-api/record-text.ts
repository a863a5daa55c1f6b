import type { RecordEntry, Revision, StoredRecord, TaskFields } from "../record/record";
import type { JsonText } from "../task/json";

// Written by hand, so that what is the caller's own goes out byte for byte as it came in.

/** `changed` of a write's answer: whether it changed anything. */
export function recordText(record: StoredRecord, changed?: boolean): JsonText {
  const { task, document, ...facts } = record;
  const members = [`"task":${task ? taskText(task) : "null"}`, `"document":${document}`];
  if (changed !== undefined) members.push(`"changed":${changed}`);
  return withMembers(facts, members);
}

export function entryText({ event, ...facts }: RecordEntry): JsonText {
  const text = event.kind === "answered" ? answeredText(event) : JSON.stringify(event);
  return withMembers(facts, [`"event":${text}`]);
}

export const revisionText = ({ document, ...facts }: Revision): JsonText =>
  withMembers(facts, [`"document":${document}`]);

export const listText = (texts: readonly JsonText[]): JsonText => `[${texts.join(",")}]`;

const taskText = ({ inputRequests, inputResponses, result, error, ...facts }: TaskFields): JsonText =>
  withMembers(facts, [
    `"inputRequests":${inputRequests}`,
    `"inputResponses":${inputResponses}`,
    `"result":${result}`,
    `"error":${error}`,
  ]);

const answeredText = ({ response, ...facts }: Extract<RecordEntry["event"], { kind: "answered" }>): JsonText =>
  withMembers(facts, [`"response":${response}`]);

/** Members with the text of their values, behind those of a plain object that has some. */
export const withMembers = (facts: object, members: readonly JsonText[]): JsonText =>
  `${JSON.stringify(facts).slice(0, -1)},${members.join(",")}}`;
