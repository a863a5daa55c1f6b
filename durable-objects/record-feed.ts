import type { RecordEntry } from "../src/record/record";
import { overSockets, type Attached } from "./feed";
import type { Crowd } from "./feed-socket";
import type { RecordAsk } from "./record-rpc";

/** What a record's object sends to whoever follows its log. `gone` is the last. */
export type RecordFeedMessage = { readonly kind: "entry"; readonly entry: RecordEntry } | { readonly kind: "gone" };

/** The object closes so when it sent as much as one answer holds and there is more: attach again for the rest. */
export const MORE = 1012;

/** What the Worker wants of a record's feed. */
export type RecordWish = Crowd & { readonly record: { readonly ask: RecordAsk; readonly after: number } };

/** A record's log over any number of sockets: each goes on behind the last entry seen. Ends with the record. */
export async function* recordFeed(
  first: Attached<RecordFeedMessage>,
  reattach: (after: number) => Promise<Attached<RecordFeedMessage> | null>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RecordEntry, void, undefined> {
  let cursor = after;
  for await (const message of overSockets(first, () => reattach(cursor), signal)) {
    if (message === null || message.kind === "gone") return;
    cursor = message.entry.seq;
    yield message.entry;
  }
}
