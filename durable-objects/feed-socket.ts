import type { Rank, Watcher } from "../src/service/carrier";
import type { FeedEnd } from "../src/service/feed-hub";
import type { SessionRole } from "../src/service/sessions";
import type { Owner } from "../src/task/task";

/** Closed by us after the last message; anything else means that the object went away and the reader reattaches. */
export const FEED_ENDED = 1000;

export const OWNER_HEADER = "x-holdfast-owner";
export const AFTER_HEADER = "x-holdfast-after";
export const DELIVER_HEADER = "x-holdfast-deliver";
const ROLE_HEADER = "x-holdfast-role";

/** What the Worker wants of a task's feed. */
export type FeedWish = { readonly owner: Owner; readonly after: number | undefined; readonly deliver: Rank };

export function feedWish(request: Request): FeedWish {
  const after = request.headers.get(AFTER_HEADER);
  return {
    owner: fromHeader<Owner>(request, OWNER_HEADER),
    after: after === null ? undefined : Number(after),
    deliver: Number(request.headers.get(DELIVER_HEADER) ?? 0) as Rank,
  };
}

/** Who attaches to a session. Its parts are digests and ids of ours: short, and fit for a header. */
export const roleHeaders = (role: SessionRole): Readonly<Record<string, string>> => ({ [ROLE_HEADER]: toHeader(role) });

export const sessionRole = (request: Request): SessionRole => fromHeader(request, ROLE_HEADER);

/** Header values are Latin-1; owners and ids are any text. */
export const toHeader = (value: unknown): string => encodeURIComponent(JSON.stringify(value));

export const fromHeader = <T>(request: Request, name: string): T =>
  JSON.parse(decodeURIComponent(request.headers.get(name) ?? "null")) as T;

/** The object's end of a new feed, and the answer that carries the other end. */
export function openFeed(ctx: DurableObjectState): { readonly socket: WebSocket; readonly response: Response } {
  const { 0: client, 1: server } = new WebSocketPair();
  // A hibernating socket: nobody pays for waiting.
  ctx.acceptWebSocket(server);
  return { socket: server, response: new Response(null, { status: 101, webSocket: client }) };
}

/** How many feeds of one object the asker allows. */
export const STREAMS_HEADER = "x-holdfast-streams";

/** Whether as many feeds are open as there may be. */
export const isFull = (ctx: DurableObjectState, request: Request): boolean =>
  openSockets(ctx).length >= Number(request.headers.get(STREAMS_HEADER) ?? Infinity);

export const isUpgrade = (request: Request): boolean => request.headers.get("upgrade") === "websocket";

/** The feeds that are open; one whose reader is leaving does not count. */
export const openEnds = (ctx: DurableObjectState): readonly FeedEnd[] => openSockets(ctx).map(feedEnd);

const openSockets = (ctx: DurableObjectState): WebSocket[] =>
  ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN);

/** A watcher whose state lies with its socket, where hibernation keeps it. */
export function feedEnd(socket: WebSocket): FeedEnd {
  return {
    send: (message) => trySend(socket, message),
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
  const open = ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN);
  const reached = open.filter((socket) => wanted(socket.deserializeAttachment()));
  for (const socket of reached) trySend(socket, message);
  return reached.length;
}

function trySend(socket: WebSocket, message: unknown): void {
  try {
    socket.send(JSON.stringify(message));
  } catch {
    // The reader left between two lines; its socket is on its way out.
  }
}
