// All is at rest: what the store API has of each record is what its clients were told.
import type { Journal } from "../journal.ts";
import type { KnownRecord, RecordPlace, RecordSeen } from "../record-book.ts";
import { keeperOf, keepsDocuments, spaceOf } from "../record-places.ts";
import type { Server } from "../server.ts";
import { listAll } from "./record-cleanup.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore, seenIn } from "./store-client.ts";

/** As many entries of a log as are kept. */
const LOG_LIMIT = 1_000;

/** As many saves as are kept of a document. */
const REVISIONS = 20;

type Saved = Pick<RecordSeen, "version" | "document">;

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
  if (keepsDocuments(record)) for (const says of await revisionFaults(server, record, seen, journal)) found(says);
  const entries = await entriesOf(server, record, seen.seq, journal);
  if (entries) for (const says of faultsOf(record, entries, seen.seq)) found(says);
}

/** The whole log, page by page; null where it could not be had. */
async function entriesOf(
  server: Server,
  record: KnownRecord,
  last: number,
  journal: Journal,
): Promise<readonly Entry[] | null> {
  const entries: Entry[] = [];
  for (let after = 0; after < last;) {
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
  return entries;
}

/** The newest saves are kept without gaps, each as it was told. */
async function revisionFaults(
  server: Server,
  record: KnownRecord,
  { version: newest }: RecordSeen,
  journal: Journal,
): Promise<readonly string[]> {
  const { as, query } = keeperOf(record);
  const reply = await requestStore(server, as, pathOf({ ...record, query }, "/revisions"), { method: "GET" });
  if (reply.kind === "lost") return [];
  const { revisions } = bodyOf(reply) as { readonly revisions?: readonly Saved[] };
  if (!revisions) {
    refusal(journal, `The revisions of ${record.id}`, reply);
    return [];
  }
  const kept = revisions.map(({ version }) => version);
  const due = Array.from({ length: Math.min(newest, REVISIONS) }, (_, at) => newest - at);
  const faults = revisions.flatMap(({ version, document }) => {
    const told = record.texts.get(version);
    const said = told === undefined ? null : JSON.stringify((JSON.parse(told) as RecordSeen).document);
    const is = JSON.stringify(document);
    if (said !== null && said !== is)
      return [`was told to be ${said} at version ${version}, and its revision is ${is}.`];
    return record.saves.size > 0 && !record.saves.has(is) ? [`has the revision ${is}, which nobody saved.`] : [];
  });
  if (kept.join() !== due.join()) faults.push(`has the revisions ${kept.join(" ")}, and is at version ${newest}.`);
  return faults;
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
  space: RecordPlace,
  known: readonly KnownRecord[],
  journal: Journal,
): Promise<void> {
  const records = await listAll(server, space, journal);
  if (!records) return;
  const found = (says: string): void => journal.found("the list is whole", `The list of ${spaceOf(space)} ${says}`);
  const listed = new Set(records.map(({ id }) => String(id)));
  if (listed.size !== records.length) found("has a record twice.");
  for (const record of known.filter((one) => spaceOf(one) === spaceOf(space))) {
    const { id, removed } = record;
    if (removed === "yes" && listed.has(id)) found(`has ${id}, which was removed.`);
    if (!journal.records.mayBeGone(record, server.now()) && !listed.has(id)) found(`does not have ${id}.`);
  }
}
