// The cleanup of the store API, and what is left to do when everything is to go.
import type { Journal } from "../journal.ts";
import { isFinal, type RecordPlace, type RecordSeen } from "../record-book.ts";
import { keeperOf, keepsDocuments, listerOf, SPACES, spaceOf } from "../record-places.ts";
import type { Server } from "../server.ts";
import type { Fields } from "../wire.ts";
import { forEach } from "./for-each.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore } from "./store-client.ts";

/** Once; whether there is more. */
export async function cleanUp(server: Server, place: RecordPlace, limitMs: number, journal: Journal): Promise<boolean> {
  const { as, query } = keeperOf(place);
  const cleanup = { space: spaceOf(place), limitMs, until: Infinity };
  journal.records.cleanups.push(cleanup);
  const body = { defaultTtlMs: limitMs };
  const reply = await requestStore(server, as, `/namespaces/${place.namespace}/cleanup${query}`, { body });
  cleanup.until = server.now();
  if (reply.kind === "lost") return false;
  const { removed, more } = bodyOf(reply);
  if (reply.status !== 200) refusal(journal, `The cleanup of ${cleanup.space}`, reply);
  else journal.count("cleanups acknowledged");
  if (typeof removed === "number") journal.count("removed by cleanups", removed);
  return more === true;
}

/** At the end: the cleanups take what has ended and no ttl takes, and the clients what has not even ended. */
export async function clearRecords(server: Server, journal: Journal): Promise<void> {
  for (const space of SPACES) {
    while (await cleanUp(server, space, 0, journal));
    const records = (await listAll(server, space, journal)) ?? [];
    const left = records.filter(({ ttlMs }) => ttlMs === null);
    for (const { id, task } of left)
      if (isFinal((task as RecordSeen["task"])?.status ?? null))
        journal.found("a cleanup is whole", `The record ${space.namespace}/${String(id)} outlived it.`);
    // The documents that have no ttl have writers of their own.
    if (!keepsDocuments(space)) await removeAll(server, space, left, journal);
  }
}

async function removeAll(
  server: Server,
  space: RecordPlace,
  records: readonly Fields[],
  journal: Journal,
): Promise<void> {
  const { as, query } = keeperOf(space);
  await forEach(records, async ({ id }) => {
    const path = pathOf({ namespace: space.namespace, id: String(id), query });
    const reply = await requestStore(server, as, path, { method: "DELETE" });
    if (reply.kind === "answer" && bodyOf(reply)["removed"] !== true) refusal(journal, `The end of ${path}`, reply);
  });
}

/** All records of a space, page by page; null where they could not be had. */
export async function listAll(server: Server, place: RecordPlace, journal: Journal): Promise<readonly Fields[] | null> {
  const { as, query } = listerOf(place);
  const records: Fields[] = [];
  let cursor: unknown = null;
  do {
    const next = cursor === null ? "" : `&cursor=${encodeURIComponent(String(cursor))}`;
    const path = `/namespaces/${place.namespace}/records${query === "" ? "?" : `${query}&`}limit=100${next}`;
    const reply = await requestStore(server, as, path, { method: "GET" });
    if (reply.kind === "lost") return null;
    if (reply.status !== 200) {
      refusal(journal, `The list of ${spaceOf(place)}`, reply);
      return null;
    }
    const body = bodyOf(reply);
    records.push(...(body["records"] as readonly Fields[]));
    cursor = body["nextCursor"];
  } while (cursor !== null);
  return records;
}
