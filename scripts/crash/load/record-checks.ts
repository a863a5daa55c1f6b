// All is at rest: what the store API has of each record is what its clients were told.
import type { Journal } from "../journal.ts";
import type { KnownRecord, RecordPlace } from "../record-book.ts";
import type { Server } from "../server.ts";
import type { Fields } from "../wire.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore, seenIn } from "./store-client.ts";

/** As many entries of a log as are kept. */
const LOG_LIMIT = 1_000;

type Entry = {
  readonly seq: number;
  readonly version: number;
  readonly event: {
    readonly kind: string;
    readonly status?: string | null;
    readonly key?: string;
    readonly response?: unknown;
  };
};

export async function checkRecord(server: Server, record: KnownRecord, journal: Journal): Promise<void> {
  const { as, id, removed, counted, doubtful, version, final } = record;
  const found = (says: string): void =>
    journal.found("records are kept", `The record ${record.namespace}/${id} ${says}`);
  const reply = await requestStore(server, as, pathOf(record), { method: "GET" });
  if (reply.kind === "lost") return;
  if (reply.status === 404) return journal.records.missing(record, server.now());
  if (reply.status !== 200) return refusal(journal, `Reading ${id}`, reply);
  const seen = seenIn(bodyOf(reply));
  if (removed === "yes") return found("was removed, and is read again.");
  journal.records.saw(record, seen, version);
  if (final !== null && seen.task?.status !== final) found(`ended as ${final}, and is ${seen.task?.status} at last.`);
  const { counter } = seen.document;
  if (counter < counted || counter > counted + doubtful)
    found(`was added to ${counted} times, ${doubtful} more are not known, and its counter is at ${counter}.`);
  const entries = await entriesOf(server, record, journal);
  if (entries) for (const says of faultsOf(record, entries, seen.seq)) found(says);
}

/** The whole log, page by page; null where it could not be had. */
async function entriesOf(server: Server, record: KnownRecord, journal: Journal): Promise<readonly Entry[] | null> {
  const entries: Entry[] = [];
  for (let after = 0; ;) {
    const query = `${record.query === "" ? "?" : `${record.query}&`}after=${after}`;
    const path = pathOf({ ...record, query }, "/events");
    const reply = await requestStore(server, record.as, path, { method: "GET" });
    if (reply.kind === "lost") return null;
    if (reply.status !== 200) {
      refusal(journal, `The events of ${record.id}`, reply);
      return null;
    }
    const page = bodyOf(reply) as { readonly entries: readonly Entry[]; readonly cursor: number };
    if (page.entries.length === 0) return entries;
    entries.push(...page.entries);
    after = page.cursor;
  }
}

function* faultsOf({ answers, final }: KnownRecord, entries: readonly Entry[], last: number): Generator<string> {
  const first = Math.max(1, last - LOG_LIMIT + 1);
  const numbers = entries.map(({ seq }) => seq);
  if (numbers.length !== last - first + 1 || numbers.some((seq, at) => seq !== first + at))
    yield `has a log of ${first} to ${last}, and it reads ${numbers.join(" ")}.`;
  const kinds = entries.map(({ event }) => event);
  if (first === 1 && kinds[0]?.kind !== "created") yield `has a log that begins with ${kinds[0]?.kind}.`;
  const ends = new Set<string>(
    kinds.flatMap(({ status }) => (status === "completed" || status === "failed" ? [status] : [])),
  );
  if (kinds.some(({ kind }) => kind === "cancelled")) ends.add("cancelled");
  if (ends.size > 1 || (final !== null && !ends.has(final) && first === 1))
    yield `was seen ${final}, and its log tells of the ends ${[...ends].join(", ")}.`;
  const answered = Map.groupBy(
    kinds.filter(({ kind }) => kind === "answered"),
    ({ key }) => key,
  );
  for (const [key = "", some] of answered) {
    const given = JSON.stringify(some[0]?.response);
    if (some.length > 1) yield `has ${some.length} answers to ${key} in its log.`;
    if (!answers.get(key)?.sent.includes(given)) yield `has the answer ${given} to ${key}, which nobody sent.`;
  }
  for (const [key, { taken }] of answers) {
    const given = JSON.stringify(answered.get(key)?.[0]?.response ?? null);
    if (taken !== null && first === 1 && given !== taken)
      yield `took the answer ${taken} to ${key}, and its log has ${given}.`;
  }
}

/** Each that is there is listed once, and none that is not. */
export async function checkList(
  server: Server,
  { namespace, as }: RecordPlace,
  known: readonly KnownRecord[],
  journal: Journal,
): Promise<void> {
  const listed: string[] = [];
  let cursor: unknown = null;
  do {
    const query = cursor === null ? "" : `?cursor=${encodeURIComponent(String(cursor))}`;
    const reply = await requestStore(server, as, `/namespaces/${namespace}/records${query}`, { method: "GET" });
    if (reply.kind === "lost") return;
    if (reply.status !== 200) return refusal(journal, `The list of ${namespace}`, reply);
    const body = bodyOf(reply);
    listed.push(...(body["records"] as readonly Fields[]).map(({ id }) => String(id)));
    cursor = body["nextCursor"];
  } while (cursor !== null);
  const found = (says: string): void => journal.found("the list is whole", `The list of ${namespace} ${says}`);
  if (new Set(listed).size !== listed.length) found("has a record twice.");
  for (const { id, removed, expiresAt } of known.filter((record) => record.namespace === namespace)) {
    if (removed === "yes" && listed.includes(id)) found(`has ${id}, which was removed.`);
    if (removed === "no" && expiresAt > server.now() && !listed.includes(id)) found(`does not have ${id}.`);
  }
}
