import { dropWhenGone, eventStream, SendQueue } from "../event-stream";
import { acceptsOf } from "../media-types";
import type { Namespace } from "../record/record";
import { slowAnswer } from "../slow-answer";
import { TaskError } from "../task/errors";
import { ok, toResponse, type Answer } from "./answer";
import type { As, Entries, StoreApi } from "./api";
import type { StoreContext, StoreDeps } from "./deps";
import { explainThrown, notAllowed, Refused } from "./errors";
import { found } from "./record-answers";
import { entryText, listText } from "./record-text";
import { LONGEST_WAIT_MS } from "./schemas";

/** Proxies cut streams that are quiet for a minute or two. */
const KEEP_ALIVE_MS = 15_000;

type EventsCall = {
  readonly api: StoreApi;
  readonly namespace: Namespace;
  readonly id: string;
  readonly as: As & { readonly after?: number; readonly waitMs?: number };
};

/** The entries of one record's log after a cursor. Null when there is no such record, or no longer. */
type Feed = (options: { after: number; waitMs: number; signal: AbortSignal }) => Promise<Entries | null>;

/** A record's log: as one answer, which waits for something new when it is asked to, or as a stream. */
export async function serveEvents(
  c: StoreContext,
  { log }: Pick<StoreDeps, "log">,
  callOf: () => EventsCall,
): Promise<Answer | Response> {
  // HEAD would come in as a GET whose stream nobody reads.
  if (c.req.raw.method === "HEAD") throw notAllowed(["GET"]);
  const { api, namespace, id, as } = callOf();
  const { after = 0, waitMs = 0, ...whose } = as;
  const feed: Feed = (options) => api.events(namespace.name, id, { ...whose, ...options });

  const accepts = acceptsOf(c.req.header("accept") ?? null);
  if (!accepts.json && !accepts.eventStream) {
    throw new Refused(406, "not_acceptable", "Accept must allow application/json or text/event-stream.");
  }
  const onLate = (thrown: unknown): void => void explainThrown(thrown, log, c.var.principal);
  const { signal } = c.req.raw;
  const from = (accepts.json ? null : lastEventId(c)) ?? after;
  // What is missing is told as such, before the wait.
  const first = found(await feed({ after: from, waitMs: 0, signal }));
  if (!accepts.json) return streamOf(c, feed, first, onLate);
  if (first.entries.length > 0 || waitMs === 0) return pageAnswer(first);
  // By then the status may be out, so that it went meanwhile is told in the body.
  const wait = async (left: AbortSignal) => {
    const next = await feed({ after: from, waitMs, signal: left });
    return toResponse(pageAnswer(next ?? first, next === null));
  };
  return slowAnswer(wait, { signal, onLate });
}

function streamOf(c: StoreContext, feed: Feed, first: Entries, onLate: (thrown: unknown) => void): Response {
  const queue = new SendQueue();
  const { gone, leave } = dropWhenGone(queue, c.req.raw.signal);
  const { signal } = gone;
  const follow = async (): Promise<void> => {
    for (let page: Entries | null = first; page !== null && !signal.aborted;) {
      for (const entry of page.entries) await queue.push({ id: String(entry.seq), data: entryText(entry) });
      page = await feed({ after: page.cursor, waitMs: LONGEST_WAIT_MS, signal });
    }
  };
  void follow()
    .catch((thrown: unknown) => {
      if (!signal.aborted) onLate(thrown);
    })
    .finally(() => queue.end());
  return eventStream(c, queue, { keepAliveMs: KEEP_ALIVE_MS, onGone: leave });
}

/** Where a client that lost its stream goes on; it repeats the address it began with. */
function lastEventId(c: StoreContext): number | undefined {
  const id = c.req.header("last-event-id")?.trim();
  if (id === undefined || id === "") return undefined;
  if (!/^\d{1,15}$/.test(id))
    throw new TaskError("invalid", "Last-Event-ID must be the id of an event of this stream.");
  return Number(id);
}

const pageAnswer = ({ entries, cursor }: Entries, gone = false): Answer =>
  ok({}, { entries: listText(entries.map(entryText)), cursor, gone });
