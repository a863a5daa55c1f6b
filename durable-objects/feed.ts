import { overLimit, TaskError } from "../src/task/errors";
import { Channel } from "../src/service/channel";
import type { TaskFeedMessage } from "../src/service/task-store";
import { FEED_ENDED, wishHeaders, type Crowd } from "./feed-socket";
import { pause } from "../src/service/suspension";
import { whenAborted } from "../src/service/when-aborted";
import type { Attachable } from "./rpc";

const FEED_URL = "https://holdfast.internal/feed";
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 10_000;

/** One socket to an object's feed. */
export type Attached<M> = {
  readonly messages: AsyncIterable<M>;
  /** Whether the object said that this was all. Anything else is a loss: a deploy, a reset, the network. */
  readonly ended: () => boolean;
  readonly release: () => void;
};

/** Opens the feed behind `stub`; null when there is nothing the caller may see. */
export async function attach<M>(stub: Attachable, wish: Crowd, signal: AbortSignal): Promise<Attached<M> | null> {
  const headers = { Upgrade: "websocket", ...wishHeaders(wish) };
  const response = await stub.fetch(FEED_URL, { headers });
  if (response.status === 404) return null;
  if (response.status === 429) {
    throw overLimit("MAX_STREAMS_PER_OWNER", wish.streams ?? 0, "close a stream first.", 5_000);
  }
  const socket = response.webSocket;
  if (!socket) throw new Error(`The object answered ${response.status} where a feed was asked for.`);
  return receive(socket, signal);
}

/**
 * A task's feed over any number of sockets. After a loss it attaches anew from the last event seen; what repeats what
 * was seen already is left out, and no snapshot is older than one before it.
 */
export async function* taskFeed(
  first: Attached<TaskFeedMessage>,
  reattach: (after: number) => Promise<Attached<TaskFeedMessage> | null>,
  after: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<TaskFeedMessage, void, undefined> {
  let cursor = after;
  let newest = 0;
  const delivered = new Set<string>();
  const reopen = () => reattach(cursor ?? 0);
  for await (const message of overSockets(first, reopen, signal)) {
    if (message === null) return yield { kind: "gone" };
    if (message.kind === "snapshot") {
      if (message.task.version < newest) continue;
      newest = message.task.version;
      cursor ??= newest;
    }
    if (message.kind === "deliver") {
      // After a loss the object gives all that is open again; on this stream it has been asked.
      const questions = message.questions.filter(({ key }) => !delivered.has(key));
      for (const { key } of questions) delivered.add(key);
      yield { kind: "deliver", questions };
      continue;
    }
    if (message.kind === "event") {
      if (message.entry.seq <= (cursor ?? 0)) continue;
      cursor = message.entry.seq;
      newest = Math.max(newest, cursor);
    }
    yield message;
    if (message.kind === "gone") return;
  }
}

/** An owner's feed for as long as the signal lets it; each `ready` after the first says that something may be missed. */
export async function* ownerFeed<M>(
  open: () => Promise<Attached<M> | null>,
  signal: AbortSignal,
): AsyncGenerator<M, void, undefined> {
  for await (const message of overSockets(null, open, signal)) if (message !== null) yield message;
}

/** The messages of one socket after another until one ends well or the signal aborts; null when there is no feed any more. */
export async function* overSockets<M>(
  first: Attached<M> | null,
  open: () => Promise<Attached<M> | null>,
  signal: AbortSignal,
): AsyncGenerator<M | null, void, undefined> {
  let attached = first;
  let losses = 0;
  while (!signal.aborted) {
    if (attached) {
      try {
        for await (const message of attached.messages) {
          losses = 0;
          yield message;
        }
      } finally {
        attached.release();
      }
      if (signal.aborted || attached.ended()) return;
      attached = null;
      losses += 1;
      await pauseAfter(losses, signal);
      continue;
    }
    try {
      attached = await open();
      if (!attached) return yield null;
    } catch (error) {
      // Refused at once and not lost: the caller must hear of it.
      if (losses === 0 && error instanceof TaskError) throw error;
      losses += 1;
      await pauseAfter(losses, signal);
    }
  }
  attached?.release();
}

/** Spread out, since one deploy loses every feed at once. */
const pauseAfter = (losses: number, signal: AbortSignal): Promise<void> =>
  pause(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (losses - 1)) * (0.5 + Math.random()), signal)
    // It aborted.
    .catch(() => {});

function receive<M>(socket: WebSocket, signal: AbortSignal): Attached<M> {
  const channel = new Channel<M>();
  let ended = false;
  socket.addEventListener("message", ({ data }) => channel.push(JSON.parse(String(data)) as M));
  socket.addEventListener("close", ({ code }) => {
    ended = code === FEED_ENDED;
    channel.close();
  });
  socket.addEventListener("error", () => channel.close());
  socket.accept();
  const close = () => {
    channel.close();
    try {
      socket.close(FEED_ENDED);
    } catch {
      // Closed already.
    }
  };
  const forget = whenAborted(signal, close);
  const release = () => {
    forget();
    close();
  };
  return { messages: channel, ended: () => ended, release };
}
