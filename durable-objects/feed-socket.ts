import type { Owner } from "../src/task/task";

/** Closed by us after the last message; anything else means that the object went away and the reader reattaches. */
export const FEED_ENDED = 1000;

export const OWNER_HEADER = "x-holdfast-owner";
export const AFTER_HEADER = "x-holdfast-after";

type Attach<Message> = (
  owner: Owner,
  after: number | undefined,
) => { readonly messages: readonly Message[]; readonly ended: boolean } | null;

/** Answers the Worker's request for a feed: 404 when there is nothing the owner may see. */
export function openFeed<Message>(ctx: DurableObjectState, request: Request, attach: Attach<Message>): Response {
  if (request.headers.get("upgrade") !== "websocket") return new Response(null, { status: 426 });
  const after = request.headers.get(AFTER_HEADER);
  const attached = attach(
    JSON.parse(request.headers.get(OWNER_HEADER) ?? "null") as Owner,
    after === null ? undefined : Number(after),
  );
  if (!attached) return new Response(null, { status: 404 });
  const { 0: client, 1: server } = new WebSocketPair();
  ctx.acceptWebSocket(server);
  for (const message of attached.messages) server.send(JSON.stringify(message));
  if (attached.ended) server.close(FEED_ENDED);
  return new Response(null, { status: 101, webSocket: client });
}

/** Sends to every open feed of the object. */
export function broadcast(ctx: DurableObjectState, message: unknown, last: boolean): void {
  const sockets = ctx.getWebSockets();
  if (sockets.length === 0) return;
  const text = JSON.stringify(message);
  for (const socket of sockets) {
    try {
      socket.send(text);
      if (last) socket.close(FEED_ENDED);
    } catch {
      // The reader left between two lines; its socket is on its way out.
    }
  }
}
