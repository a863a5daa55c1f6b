// Workers elsewhere: they claim the tasks of a remote tool, report under short leases, and often enough just vanish.
import { setTimeout as delay } from "node:timers/promises";
import type { Journal } from "../journal.ts";
import { randomFrom, type Random } from "../random.ts";
import { OWNERS, type Server } from "../server.ts";
import type { Fields } from "../wire.ts";
import { DECLARED } from "./declared-tools.ts";
import type { Door } from "./door.ts";
import { anyNote } from "./errands.ts";
import { MODERN, requestModern } from "./modern-client.ts";
import { isAtCap, refusal } from "./refusals.ts";
import { expiryOf } from "./sights.ts";
import { bodyOf, requestStore } from "./store-client.ts";

/** The tool and its queue are called the same. */
const REMOTE = "remote";
const QUEUES = [REMOTE, DECLARED] as const;
const LEASE_MS = { shortest: 1_000, longest: 2_000 };
/** When all is at rest, and nobody is to lose what was claimed. */
const CALM_LEASE_MS = 60_000;
/** A question lapses when the clock is moved, if nobody answers it. */
const QUESTION_MS = 3_600_000;

/** No two claims are called the same, whoever makes them. */
let claims = 0;

type Claim = { readonly taskId: string; readonly lease: string; readonly answers: Fields };
/** What a report came to; null: it was refused, and nothing was changed. */
type Told = "held" | "settled" | "returned" | "cancelled" | "lost" | null;

export class Workers implements Door {
  readonly name = "workers";
  readonly weight = 2.5;
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  async act(random: Random, journal: Journal): Promise<void> {
    if (random.chance(0.35)) return this.#create(random, journal);
    const leaseMs = random.between(LEASE_MS.shortest, LEASE_MS.longest);
    const wish = { max: random.between(1, 2), leaseMs, waitMs: random.chance(0.3) ? random.below(1_000) : 0 };
    // What comes of one does not hang on when the other is through.
    const chances = [random, random].map((chance) => randomFrom(chance.below(2 ** 31)));
    const claimed = await this.#claim(random.of(QUEUES), wish, journal);
    await Promise.all(claimed.map((claim, at) => this.#work(claim, leaseMs, chances[at] ?? random, journal)));
  }

  /** What they were told of ends is in the journal, which all doors are held against. */
  async verify(): Promise<void> {}

  /** Does whatever waits in the queues, and all of it well. */
  async finish(journal: Journal): Promise<void> {
    for (const queue of QUEUES) {
      let claims: readonly Claim[];
      do {
        claims = await this.#claim(queue, { max: 10, leaseMs: CALM_LEASE_MS, waitMs: 0 }, journal);
        for (const claim of claims) await this.#complete(claim, journal);
      } while (claims.length > 0);
    }
  }

  async #create(random: Random, journal: Journal): Promise<void> {
    const owner = random.of(OWNERS);
    const note = anyNote(REMOTE, journal);
    const key = random.chance(0.6) ? `key-of-${note}` : undefined;
    for (;;) {
      const params = { name: REMOTE, arguments: { note } };
      const reply = await requestModern(this.#server, owner, "tools/call", params, { key });
      if (reply.kind === "lost") {
        journal.count("calls lost");
        if (key === undefined) return;
        continue;
      }
      if (isAtCap(reply)) return journal.count("refused at the cap");
      const { result } = reply.message ?? {};
      if (result?.["resultType"] !== "task") return refusal(journal, `The call of ${note}`, reply);
      const door = `${MODERN}, ${REMOTE}`;
      journal.acknowledged(String(result["taskId"]), { door, owner, note, expiresAt: expiryOf(result, "ttlMs") });
      return;
    }
  }

  /** The same claim until it is answered: had its answer been lost, the same tasks come again. */
  async #claim(
    queue: string,
    wish: { readonly max: number; readonly leaseMs: number; readonly waitMs: number },
    journal: Journal,
  ): Promise<readonly Claim[]> {
    claims += 1;
    const body = { claimId: `claim-${claims}`, worker: "crash", ...wish };
    for (;;) {
      const reply = await requestStore(this.#server, "worker", `/queues/${queue}/claims`, { body });
      if (reply.kind === "lost") {
        journal.count("claims made again");
        continue;
      }
      const { claims: given } = bodyOf(reply);
      if (!Array.isArray(given)) {
        refusal(journal, "A claim", reply);
        return [];
      }
      journal.count("tasks claimed", given.length);
      return given as readonly Claim[];
    }
  }

  async #work(claim: Claim, leaseMs: number, random: Random, journal: Journal): Promise<void> {
    for (let beats = random.below(3); beats > 0; beats -= 1) {
      await delay(random.below(leaseMs / 2));
      const told = random.chance(0.5)
        ? await this.#tell(claim, "heartbeat", { leaseMs }, journal)
        : await this.#tell(claim, "progress", { progress: { progress: 3 - beats, total: 3 } }, journal);
      // A worker that stops caring goes on all the same: its reports must not count.
      if (told !== "held" && random.chance(0.7)) return;
    }
    const what = random.next();
    if (what < 0.1) {
      const asks = { mode: "form", requestedSchema: { type: "object", properties: { v: { type: "string" } } } };
      const message = `question-of-${claim.lease.slice(0, 8)}`;
      const questions = { [message]: { method: "elicitation/create", params: { ...asks, message } } };
      await this.#tell(claim, "ask", { questions, timeoutMs: QUESTION_MS }, journal);
      return;
    }
    if (what < 0.25) return journal.count("workers fell silent");
    if (what < 0.33) return void (await this.#tell(claim, "release", {}, journal));
    // Now and then after its lease has ended.
    if (random.chance(0.1)) await delay(leaseMs);
    if (what < 0.45) return this.#fail(claim, random.chance(0.7), journal);
    await this.#complete(claim, journal);
  }

  async #complete({ answers, ...claim }: Claim, journal: Journal): Promise<void> {
    const report = JSON.stringify({ lease: claim.lease, answers });
    const result = { content: [{ type: "text", text: report }] };
    await this.#end(claim, "complete", { result }, { kind: "result", report }, journal);
  }

  async #fail(claim: Omit<Claim, "answers">, retry: boolean, journal: Journal): Promise<void> {
    const report = `The lease ${claim.lease} came to nothing.`;
    await this.#end(claim, "fail", { error: { message: report }, retry }, { kind: "error", report }, journal);
  }

  /** Tells it until it is answered: the same end twice is no fault. */
  async #end(
    claim: Omit<Claim, "answers">,
    act: string,
    more: Fields,
    outcome: { readonly kind: "result" | "error"; readonly report: string },
    journal: Journal,
  ): Promise<void> {
    const { taskId } = claim;
    journal.work.ending(taskId, outcome.report);
    const told = await this.#tell(claim, act, more, journal);
    if (told === "lost" || told === "cancelled") {
      journal.work.refused(taskId, outcome.report);
      journal.count("ends refused");
    }
    if (told !== "settled") return;
    journal.count("ends acknowledged");
    journal.saw(taskId, { view: `what ${act} told`, text: "", status: "settled", sent: -Infinity, outcome });
  }

  async #tell({ taskId, lease }: Omit<Claim, "answers">, act: string, more: Fields, journal: Journal): Promise<Told> {
    for (;;) {
      const path = `/work/${taskId}/${act}`;
      const reply = await requestStore(this.#server, "worker", path, { body: { lease, ...more } });
      if (reply.kind === "lost") {
        journal.count("reports made again");
        continue;
      }
      const { kind } = bodyOf(reply);
      if (reply.status === 200 || (reply.status === 409 && typeof kind === "string")) return kind as Told;
      if (reply.status === 404) journal.missing(taskId, path, this.#server.now());
      // A question may be open already, and one that was asked may have been answered.
      else if (reply.status !== 409) refusal(journal, path, reply);
      return null;
    }
  }
}
