import type { RecordEntry, Revision, StoredRecord, TaskFields } from "../record/record";
import type { JsonText } from "../task/json";

// Written by hand, so that what is the caller's own goes out byte for byte as it came in.

/** `changed` of a write's answer: whether it changed anything. */
export const recordText = ({ task, document, ...facts }: StoredRecord, changed?: boolean): JsonText =>
  objectText({ ...facts, changed }, { task: task && taskText(task), document });

export const entryText = ({ event, ...facts }: RecordEntry): JsonText =>
  objectText(facts, { event: event.kind === "answered" ? answeredText(event) : JSON.stringify(event) });

export const revisionText = ({ document, ...facts }: Revision): JsonText => objectText(facts, { document });

export type Texts = Readonly<Record<string, JsonText | number | boolean | null>>;

export const listText = (texts: readonly JsonText[]): JsonText => `[${texts.join(",")}]`;

/** A JSON object of plain members, and behind them of members whose values are JSON text, or read the same as JSON. */
export function objectText(facts: object, texts: Texts = {}): JsonText {
  const members = Object.entries(texts).map(([key, text]) => `${JSON.stringify(key)}:${text}`);
  const plain = JSON.stringify(facts).slice(1, -1);
  return `{${[...(plain ? [plain] : []), ...members].join(",")}}`;
}

const taskText = ({ inputRequests, inputResponses, result, error, ...facts }: TaskFields): JsonText =>
  objectText(facts, { inputRequests, inputResponses, result, error });

const answeredText = ({ response, ...facts }: Extract<RecordEntry["event"], { kind: "answered" }>): JsonText =>
  objectText(facts, { response });
