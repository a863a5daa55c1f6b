// The store API's records: servers keep tasks and documents here, write what they have read, and wait for what happens.
import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import { isFinal, type KnownRecord, type RecordPlace, type RecordSeen } from "../record-book.ts";
import type { Server } from "../server.ts";
import type { Fields } from "../wire.ts";
import type { Door } from "./door.ts";
import { anyAnswer } from "./errands.ts";
import { forEach } from "./for-each.ts";
import { checkRecord, checkList } from "./record-checks.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore, seenIn } from "./store-client.ts";

const PLACES: readonly RecordPlace[] = [
  { namespace: "default", as: "owner-a", query: "" },
  { namespace: "strict", as: "worker", query: "?owner=somebody" },
  { namespace: "documents", as: "owner-a", query: "" },
];

/** Past all that the clock is moved by until all has been asked for again. */
const TTL_MS = 86_400_000;

/** What a write came to; null where nobody knows, or it could not be. */
type Written = "written" | "unchanged" | "stale" | "terminal" | null;

type Write = {
  readonly method: "PUT" | "PATCH" | "POST";
  readonly body?: object;
  /** Only if it is still this one. */
  readonly version?: number;
};

export class StoreRecords implements Door {
  readonly name = "store API";
  readonly weight = 4;
  readonly #server: Server;
  #last = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const what = random.next();
    // Few at a time, so that there are many writes to each.
    const records = journal.records.live(this.#server.now()).slice(-8);
    if (what < 0.15 || records.length === 0) return this.#create(random, journal);
    const record = random.of(records);
    if (what < 0.6 || record.namespace === "documents") return this.#increment(record, random, journal);
    if (what < 0.74) await this.#ask(record, random, journal);
    if (what < 0.86) return this.#answer(record, random, journal);
    if (what < 0.92) return this.#setStatus(record, random, journal);
    if (what < 0.94) return void (await this.#write(record, "/cancel", { method: "POST" }, journal));
    if (what < 0.97) return this.#remove(record, journal);
    return this.#await(record, random, journal);
  }

  async verify(journal: Journal): Promise<void> {
    const known = [...journal.records.all.values()];
    await forEach(known, (record) => checkRecord(this.#server, record, journal));
    for (const place of PLACES.filter(({ as }) => as === "owner-a"))
      await checkList(this.#server, place, known, journal);
  }

  /** Under an id of its own, or with a key, it is the same creation however often it is made. */
  async #create(random: Random, journal: Journal): Promise<void> {
    this.#last += 1;
    const place = random.of(PLACES);
    const id = random.chance(0.5) ? `record-${this.#last}` : undefined;
    const headers = random.chance(0.5) ? { "Idempotency-Key": `key-of-record-${this.#last}` } : {};
    const isRepeatable = id !== undefined || "Idempotency-Key" in headers;
    const ttlMs = random.chance(0.15) ? random.between(2_000, 8_000) : TTL_MS;
    const task = place.namespace === "documents" ? {} : { task: { statusMessage: `record ${this.#last}` } };
    const body = { ttlMs, document: { counter: 0, text: "x".repeat(random.below(200)) }, ...task, ...(id && { id }) };
    let times = isRepeatable && random.chance(0.2) ? 2 : 1;
    for (let tries = 1; times > 0; tries += 1) {
      const path = `/namespaces/${place.namespace}/records${place.query}`;
      const reply = await requestStore(this.#server, place.as, path, { method: "POST", headers, body });
      if (reply.kind === "lost") {
        journal.count("calls lost");
        if (!isRepeatable) return;
        continue;
      }
      times -= 1;
      if (reply.status === 201 || (reply.status === 200 && tries > 1)) {
        const { id: told } = journal.records.acknowledged(place, seenIn(bodyOf(reply)));
        if (id !== undefined && told !== id)
          journal.found("records are kept", `A record was to be ${id}, and became ${told}.`);
      } else if (reply.status === 409 && tries > 1 && id !== undefined) {
        // Somebody made it before: that was us.
        await this.#find({ ...place, id }, journal);
      } else refusal(journal, `The creation of record ${this.#last}`, reply);
    }
  }

  async #find(where: RecordPlace & { readonly id: string }, journal: Journal): Promise<void> {
    const reply = await requestStore(this.#server, where.as, pathOf(where), { method: "GET" });
    if (reply.kind === "answer" && reply.status === 200) journal.records.acknowledged(where, seenIn(bodyOf(reply)));
  }

  /** Reads, adds one, and writes that if nobody else wrote meanwhile. */
  async #increment(record: KnownRecord, random: Random, journal: Journal): Promise<void> {
    const seen = await this.#read(record, journal);
    if (!seen) return;
    const document = { ...seen.document, counter: seen.document.counter + 1 };
    const isWhole = record.namespace === "documents" || random.chance(0.5);
    const write = isWhole
      ? ({ method: "PUT", body: { ...seen, document } } as const)
      : ({ method: "PATCH", body: { document: { counter: document.counter } } } as const);
    const written = await this.#write(record, "", { ...write, version: seen.version }, journal);
    if (written === "written") record.counted += 1;
    else if (written === null) record.doubtful += 1;
    if (written !== null) journal.count(`increments ${written}`);
  }

  async #ask(record: KnownRecord, random: Random, journal: Journal): Promise<void> {
    const key = `question-${random.below(1e9)}`;
    const question = { method: "elicitation/create", params: { message: key } };
    await this.#write(record, "/questions", { method: "PUT", body: { inputRequests: { [key]: question } } }, journal);
  }

  /** One at a time, so that what is taken is known to be this one. */
  async #answer(record: KnownRecord, random: Random, journal: Journal): Promise<void> {
    const [key] = Object.keys((await this.#read(record, journal))?.task?.inputRequests ?? {});
    if (key === undefined) return;
    const answer = anyAnswer(random);
    const text = JSON.stringify(answer);
    const answers = record.answers.get(key) ?? { sent: [], taken: null };
    record.answers.set(key, answers);
    answers.sent.push(text);
    const write = { method: "POST", body: { inputResponses: { [key]: answer } } } as const;
    if ((await this.#write(record, "/responses", write, journal)) !== "written") return;
    journal.count("record answers acknowledged");
    if (answers.taken !== null)
      journal.found("answers count", `${record.id} took both ${answers.taken} and ${text} for ${key}.`);
    answers.taken = text;
  }

  async #setStatus(record: KnownRecord, random: Random, journal: Journal): Promise<void> {
    const status = random.of(["working", "working", "working", "completed", "failed"] as const);
    const task = isFinal(status) ? { task: { statusMessage: `It has ${status}.` } } : {};
    await this.#write(record, "/status", { method: "PUT", body: { status, ...task } }, journal);
  }

  async #remove(record: KnownRecord, journal: Journal): Promise<void> {
    record.removed = "maybe";
    const reply = await requestStore(this.#server, record.as, pathOf(record), { method: "DELETE" });
    if (reply.kind === "lost") return;
    if (reply.status !== 200) return refusal(journal, `The removal of ${record.id}`, reply);
    record.removed = "yes";
    journal.count("removals acknowledged");
  }

  async #await(record: KnownRecord, random: Random, journal: Journal): Promise<void> {
    const query = record.query === "" ? "?" : `${record.query}&`;
    const path = `${pathOf({ ...record, query: "" })}/events${query}after=1&waitMs=${random.below(2_000)}`;
    const reply = await requestStore(this.#server, record.as, path, { method: "GET" });
    if (reply.kind === "lost") return;
    if (reply.status === 404) journal.records.missing(record, this.#server.now());
    else if (reply.status !== 200) refusal(journal, `The events of ${record.id}`, reply);
  }

  async #read(record: KnownRecord, journal: Journal): Promise<RecordSeen | null> {
    const [least, wasRemoved] = [record.version, record.removed === "yes"];
    const reply = await requestStore(this.#server, record.as, pathOf(record), { method: "GET" });
    if (reply.kind === "lost") return null;
    if (reply.status === 404) journal.records.missing(record, this.#server.now());
    else if (reply.status !== 200) refusal(journal, `Reading ${record.id}`, reply);
    else {
      const seen = seenIn(bodyOf(reply));
      journal.records.saw(record, seen, least);
      if (wasRemoved) journal.found("removed is gone", `The record ${record.id} was removed, and is read again.`);
      return seen;
    }
    return null;
  }

  async #write(record: KnownRecord, below: string, { version, ...sent }: Write, journal: Journal): Promise<Written> {
    const least = record.version;
    const reply = await requestStore(this.#server, record.as, pathOf(record, below), {
      ...sent,
      ...(version === undefined ? {} : { headers: { "If-Match": `"${version}"` } }),
    });
    if (reply.kind === "lost") return null;
    if (reply.status === 404) journal.records.missing(record, this.#server.now());
    const body = bodyOf(reply);
    const told = reply.status === 200 ? body : (body["record"] as Fields | null | undefined);
    if (told) journal.records.saw(record, seenIn(told), least);
    if (reply.status === 200) return body["changed"] === false ? "unchanged" : "written";
    if (reply.status === 412) return "stale";
    if (reply.status === 409 && told) return "terminal";
    if (reply.status !== 404) refusal(journal, `${sent.method} ${below} of ${record.id}`, reply);
    return null;
  }
}
