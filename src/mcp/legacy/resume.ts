import type { Exchange, RequestId } from "../../json-rpc";
import { eventId, parseEventId } from "../../service/event-id";
import { boundTo, type Caller } from "./call";

const PURPOSE = "stream";
/** A client that comes back later than this has another way to the task. */
const STREAM_TTL_MS = 86_400_000;
/** Characters of a request's id, and of its progress token: clients send the event's id back in a header. */
const MAX_SEALED = 256;

/** What a stream is about that waits for a task: enough to go on after it broke, so that nothing is stored for it. */
export type Resumable = {
  /** The id of the request it answers. */
  readonly request: RequestId;
  readonly task: string;
  /** A call that is held open, or a request for a task's result. */
  readonly of: "call" | "result";
  readonly progressToken?: string | number | undefined;
};

type Facts = {
  readonly i: RequestId;
  readonly t: string;
  readonly o: Resumable["of"];
  readonly p?: string | number;
};

/** Lets the client come back, where the revision has that: the name of the stream says what is to be gone on with. */
export async function primeStream(caller: Caller, exchange: Exchange, resumable: Resumable): Promise<void> {
  if (!caller.revision.resume || !exchange.streams) return;
  const { request, task, of, progressToken } = resumable;
  // They are the client's own, and part of each event's id.
  if ([request, progressToken].some((value) => String(value).length > MAX_SEALED)) return;
  const facts: Facts = { i: request, t: task, o: of, ...(progressToken !== undefined && { p: progressToken }) };
  const stream = await caller.deps.sealer.seal(PURPOSE, facts, boundTo(caller), STREAM_TTL_MS);
  exchange.prime(eventId(stream, 0), eventId(stream, 1));
}

/** Null for an event of another kind of stream. `ended`: the client has seen the answer, yet comes back. */
export async function openResumable(
  caller: Caller,
  lastEventId: string,
): Promise<{ readonly resumable: Resumable; readonly ended: boolean } | null> {
  const event = parseEventId(lastEventId);
  const sealed = event && (await caller.deps.sealer.open(PURPOSE, event.stream, boundTo(caller)));
  if (!sealed) return null;
  const { i: request, t: task, o: of, p: progressToken } = sealed as Facts;
  return { resumable: { request, task, of, progressToken }, ended: event.n > 0 };
}
