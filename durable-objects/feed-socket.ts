import type { Watcher } from "../src/service/carrier";
import type { FeedEnd } from "../src/service/feed-hub";

/** Closed by us after the last message; anything else means that the object went away and the reader reattaches. */
export const FEED_ENDED = 1000;

/** What the Worker wants of a feed is said in headers of these names, as JSON: for years to come, since the two may be of different versions. */
const WISH = "x-holdfast-";

/** Header values are Latin-1, owners and ids are any text. Earlier versions write some in percent-encoding, and read it. */
export const wishHeaders = (wish: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(wish)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [WISH + name, JSON.stringify(value).replace(/[^ -$&-~]/g, escaped)]),
  );

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

export const feedWish = <Wish>(request: Request): Wish =>
  Object.fromEntries(
    [...request.headers]
      .filter(([name]) => name.startsWith(WISH))
      .map(([name, value]) => [
        name.slice(WISH.length),
        JSON.parse(value.startsWith("%") ? decodeURIComponent(value) : value),
      ]),
  ) as Wish;

/** Part of a wish: how many feeds of one object the asker allows. */
export type Crowd = { readonly streams?: number };

/**
 * The answer that carries a new feed, whose other end is greeted; 429 when as many are open as there may be. Its reader
 * only listens, and the platform answers the close.
 */
export function openFeed(
  ctx: DurableObjectState,
  { streams = Infinity }: Crowd,
  greet: (socket: WebSocket) => void,
): Response {
  if (openSockets(ctx).length >= streams) return new Response(null, { status: 429 });
  const { 0: client, 1: server } = new WebSocketPair();
  // A hibernating socket: nobody pays for waiting.
  ctx.acceptWebSocket(server);
  greet(server);
  return new Response(null, { status: 101, webSocket: client });
}

/** The feeds that are open; one whose reader is leaving does not count. */
export const openEnds = (ctx: DurableObjectState): readonly FeedEnd[] => openSockets(ctx).map(feedEnd);

const openSockets = (ctx: DurableObjectState): WebSocket[] =>
  ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN);

/** A watcher whose state lies with its socket, where hibernation keeps it. */
export function feedEnd(socket: WebSocket): FeedEnd {
  return {
    send: (message) => send(socket, message),
    close: () => socket.close(FEED_ENDED),
    watcher: () =>
      (socket.deserializeAttachment() as Watcher | null) ?? { rank: 0, since: 0, carries: false, holds: false },
    become: (watcher) => socket.serializeAttachment(watcher),
  };
}

/** Sends to the open feeds of the object, or to those whose attachment is wanted; says how many there were. */
export function broadcast(
  ctx: DurableObjectState,
  message: unknown,
  wanted: (attachment: unknown) => boolean = () => true,
): number {
  const reached = openSockets(ctx).filter((socket) => wanted(socket.deserializeAttachment()));
  for (const socket of reached) send(socket, message);
  return reached.length;
}

export function send(socket: WebSocket, message: unknown): void {
  try {
    socket.send(JSON.stringify(message));
  } catch {
    // The reader left between two lines; its socket is on its way out.
  }
}
