import type { Exchange } from "../../json-rpc";
import { eventId } from "../../service/event-id";
import type { JsonObject } from "../../task/json";
import type { Caller } from "./call";
import { randomName } from "./session";

/** A session's stream, whose notifications can be had again by the id of the last one that arrived. */
export type Outlet = { tell(method: string, params: object): Promise<void> };

/** Goes on with the stream that the event is of, as far as it is remembered; else begins one. */
export async function openOutlet(caller: Caller, exchange: Exchange, lastEventId: string | null): Promise<Outlet> {
  const { session, revision, deps } = caller;
  const missed = lastEventId === null ? null : await deps.sessions.replay(session, lastEventId);
  const stream = missed?.stream ?? randomName(9);
  if (revision.resume) exchange.prime(missed && lastEventId !== null ? lastEventId : eventId(stream, 0));
  for (const { id, message } of missed?.events ?? []) {
    const { method, params } = JSON.parse(message) as { method: string; params: JsonObject };
    void exchange.notify(method, JSON.stringify(params), id);
  }
  let last: Promise<unknown> = Promise.resolve();
  return {
    tell(method, params) {
      const told = last.then(async () => {
        const id = await deps.sessions.append(session, stream, JSON.stringify({ method, params }));
        await exchange.notify(method, JSON.stringify(params), id);
      });
      // In the order of their ids; one that could not be kept is its teller's trouble, and not the next one's.
      last = told.catch(() => {});
      return told;
    },
  };
}
