// The store API's records: servers keep tasks and documents here, write what they have read, and wait for what happens.
import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import { isFinal, type KnownRecord, type RecordSeen } from "../record-book.ts";
import { keepsDocuments, PLACES, SPACES } from "../record-places.ts";
import type { Server } from "../server.ts";
import type { Fields } from "../wire.ts";
import type { Door } from "./door.ts";
import { anyAnswer } from "./errands.ts";
import { forEach } from "./for-each.ts";
import { checkRecord, checkList } from "./record-checks.ts";
import { cleanUp, clearRecords } from "./record-cleanup.ts";
import { createRecord } from "./record-creation.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore, seenIn } from "./store-client.ts";

/** How old what has ended may become by a cleanup, ms. */
const CLEANUP_LIMITS_MS = [0, 500, 3_000, 3_600_000];

/** What one server does one after another: its requests are short. */
const MOST_ACTS = 4;

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
  readonly weight = 8;
  readonly #server: Server;
  /** The ids of those that are made a second time. */
  readonly #making = new Set<string>();
  #saves = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  async act(random: Random, journal: Journal): Promise<void> {
    for (let acts = random.between(1, MOST_ACTS); acts > 0; acts -= 1) await this.#act(random, journal);
  }

  async #act(random: Random, journal: Journal): Promise<void> {
    const what = random.next();
    // Few at a time, so that there are many writes to each.
    const records = journal.records.live(this.#server.now()).slice(-24);
    const free = records.filter(({ id }) => !this.#making.has(id));
    if (what < 0.1 || free.length === 0)
      return createRecord(this.#server, random.of(PLACES), this.#making, random, journal);
    if (what < 0.12)
      return void (await cleanUp(this.#server, random.of(SPACES), random.of(CLEANUP_LIMITS_MS), journal));
    const record = random.of(free);
    if (what < 0.15) return this.#await(record, random, journal);
    if (record.saves.size > 0)
      return what < 0.9 ? this.#save(record, journal) : void (await this.#read(record, journal));
    if (what < 0.18) return this.#remove(record, journal);
    if (what < 0.55 || keepsDocuments(record)) return this.#increment(record, random, journal);
    if (what < 0.68) await this.#ask(record, random, journal);
    if (what < 0.82) return this.#answer(record, random, journal);
    if (what < 0.95) return this.#setStatus(record, random, journal);
    record.endSent ??= this.#server.now();
    await this.#write(record, "/cancel", { method: "POST" }, journal);
  }

  async verify(journal: Journal): Promise<void> {
    const known = [...journal.records.all.values()];
    await forEach(known, (record) => checkRecord(this.#server, record, journal));
    for (const space of SPACES) await checkList(this.#server, space, known, journal);
  }

  async clear(journal: Journal): Promise<void> {
    await clearRecords(this.#server, journal);
  }

  /** Whatever lies there, and whoever else saves it too. */
  async #save(record: KnownRecord, journal: Journal): Promise<void> {
    this.#saves += 1;
    const document = { counter: 0, save: `save-${this.#saves}` };
    record.saves.add(JSON.stringify(document));
    const least = record.version;
    const sent = { method: "PUT", body: { document } } as const;
    const reply = await requestStore(this.#server, record.as, pathOf(record), sent);
    if (reply.kind === "lost") return;
    if (reply.status !== 200) return refusal(journal, `The save of ${record.id}`, reply);
    const seen = seenIn(bodyOf(reply));
    journal.records.saw(record, seen, least + 1);
    journal.count("saves acknowledged");
    if (seen.document.save !== document.save)
      journal.found("saves are kept", `${record.id} was saved as ${document.save}, and told ${seen.document.save}.`);
  }

  /** Reads, adds one, and writes that if nobody else wrote meanwhile. */
  async #increment(record: KnownRecord, random: Random, journal: Journal): Promise<void> {
    const seen = await this.#read(record, journal);
    if (!seen) return;
    const document = { ...seen.document, counter: seen.document.counter + 1 };
    const isWhole = keepsDocuments(record) || random.chance(0.5);
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
    if (isFinal(status)) record.endSent ??= this.#server.now();
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
