import type { RecordEntry } from "../src/record/record";
import { ownerFeed, type Attached } from "./feed";
import type { RecordAsk } from "./record-rpc";

/** What a record's object sends to whoever follows its log. `gone` is the last. */
export type RecordFeedMessage = { readonly kind: "entry"; readonly entry: RecordEntry } | { readonly kind: "gone" };

/** The object closes so when it sent as much as one answer holds and there is more: attach again for the rest. */
export const MORE = 1012;

const WISH_HEADER = "x-holdfast-record";

export type RecordWish = { readonly ask: RecordAsk; readonly after: number };

/** Header values are Latin-1, ids and owners are any text. */
export const wishHeaders = (wish: RecordWish): Readonly<Record<string, string>> => ({
  [WISH_HEADER]: encodeURIComponent(JSON.stringify(wish)),
});

export const recordWish = (request: Request): RecordWish =>
  JSON.parse(decodeURIComponent(request.headers.get(WISH_HEADER) ?? "null")) as RecordWish;

/** A record's log over any number of sockets: each goes on behind the last entry seen. Ends with the record. */
export async function* recordFeed(
  first: Attached<RecordFeedMessage>,
  reattach: (after: number) => Promise<Attached<RecordFeedMessage> | null>,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RecordEntry, void, undefined> {
  let cursor = after;
  let opened: Attached<RecordFeedMessage> | null = first;
  const open = async () => {
    const attached = opened ?? (await reattach(cursor));
    opened = null;
    return attached;
  };
  for await (const message of ownerFeed(open, signal)) {
    if (message.kind === "gone") return;
    cursor = message.entry.seq;
    yield message.entry;
  }
}
