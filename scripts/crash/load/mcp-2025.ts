// MCP 2025-11-25, whose tasks are asked for, and whose results are waited for.
import type { Acknowledged, Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { OwnerName, Server } from "../server.ts";
import type { Answered, Fields } from "../wire.ts";
import type { Door } from "./door.ts";
import { anyCall, outcomeIn } from "./errands.ts";
import { forEach } from "./for-each.ts";
import { isAtCap, refusal } from "./refusals.ts";
import { answering, Sessions, type Session } from "./session.ts";
import { CANCELLED, expiryOf, sightOf2025 } from "./sights.ts";
import { Waits } from "./waits.ts";

const REVISION = "2025-11-25";
const KEY = "dev.holdfast/idempotencyKey";
const NOT_FOUND = -32602;

export class Mcp2025 implements Door {
  readonly name = REVISION;
  readonly weight = 3;
  readonly #server: Server;
  readonly #sessions: Sessions;
  readonly #waits = new Waits(`A client of MCP ${REVISION}`, 8);

  constructor(server: Server) {
    this.#server = server;
    this.#sessions = new Sessions(server, { elicitation: {}, tasks: {} });
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const session = await this.#sessions.any(random, [REVISION]);
    const tasks = journal.live(session.owner);
    const what = random.next();
    if (what < 0.4 || tasks.length === 0) return this.#create(session, random, journal);
    const task = random.of(tasks);
    if (what < 0.7) return this.#get(session, task, journal);
    if (what < 0.74) return this.#cancel(session, task, journal);
    if (what < 0.8) return void (await this.list(session.owner, journal));
    let lastEventId: string | null = null;
    this.#waits.begin(`the result of ${task.id}`, journal, () =>
      this.#result(session, task, random, journal, {
        lastEventId,
        onEvent: (id) => void (lastEventId = random.chance(0.5) ? id : null),
      }),
    );
  }

  async verify(journal: Journal): Promise<void> {
    await this.#waits.answered(journal);
    await forEach(journal.tasks.values(), async (task) => {
      const session = await this.#sessions.of(task.owner, REVISION);
      await this.#get(session, task, journal);
      // One that never ends is found elsewhere; here it would be waited for as long.
      if (journal.live().includes(task)) return;
      await this.#result(session, task, null, journal, { lastEventId: null });
    });
  }

  /** All tasks of the owner, whoever began them, as this revision shows them. */
  async list(owner: OwnerName, journal: Journal): Promise<readonly Fields[] | null> {
    const session = await this.#sessions.of(owner, REVISION);
    const known = journal.live(owner).map(({ id }) => id);
    const tasks: Fields[] = [];
    let cursor: unknown;
    do {
      const reply = await session.request("tasks/list", cursor === undefined ? {} : { cursor });
      if (reply.kind === "lost") return null;
      const { result } = reply.message ?? {};
      if (!result) {
        refusal(journal, "tasks/list", reply);
        return null;
      }
      tasks.push(...(result["tasks"] as readonly Fields[]));
      cursor = result["nextCursor"];
    } while (cursor !== undefined);
    const listed = new Set(tasks.map(({ taskId }) => taskId));
    for (const id of known) if (!listed.has(id)) journal.missing(id, `tasks/list of ${REVISION}`, this.#server.now());
    return tasks;
  }

  async #create(session: Session, random: Random, journal: Journal): Promise<void> {
    const { name, errand } = anyCall(random, journal);
    const key = random.chance(0.6) ? `key-of-${errand.note}` : undefined;
    // Some are not to be kept for long, so that the cron has something to collect. A key lasts no longer than its task.
    const task = key === undefined && random.chance(0.3) ? { ttl: random.between(1_000, 6_000) } : {};
    const _meta = key === undefined ? {} : { [KEY]: key };
    for (;;) {
      const reply = await session.request("tools/call", { name, arguments: errand, task, _meta });
      if (reply.kind === "lost") {
        journal.count("calls lost");
        if (key === undefined) return;
        continue;
      }
      if (isAtCap(reply)) {
        journal.count("refused at the cap");
        const [oldest] = journal.live(session.owner);
        return oldest && this.#cancel(session, oldest, journal);
      }
      const created = reply.message?.result?.["task"] as Fields | undefined;
      if (!created) return refusal(journal, `The call of ${errand.note}`, reply);
      const from = { door: this.name, owner: session.owner, note: errand.note, expiresAt: expiryOf(created, "ttl") };
      journal.acknowledged(String(created["taskId"]), from);
      return;
    }
  }

  async #get(session: Session, task: Acknowledged, journal: Journal): Promise<void> {
    const sent = journal.now();
    const reply = await session.request("tasks/get", { taskId: task.id });
    if (reply.kind === "lost") return;
    const view = `tasks/get of ${REVISION}`;
    const { result } = reply.message ?? {};
    if (result) journal.saw(task.id, sightOf2025(result, { view, text: reply.text, sent }));
    else this.#without(task, view, reply, journal);
  }

  async #cancel(session: Session, task: Acknowledged, journal: Journal): Promise<void> {
    const reply = await session.request("tasks/cancel", { taskId: task.id });
    if (reply.kind === "lost") return;
    const { result, error } = reply.message ?? {};
    // It had ended already; that is no less final.
    if (result || error?.message.startsWith("The task cannot be cancelled")) return journal.cancelled(task.id);
    this.#without(task, `tasks/cancel of ${REVISION}`, reply, journal);
  }

  /** Whether the wait is over. Without chance nobody is asked anything. */
  async #result(
    session: Session,
    task: Acknowledged,
    random: Random | null,
    journal: Journal,
    stream: { readonly lastEventId: string | null; readonly onEvent?: (id: string) => void },
  ): Promise<boolean> {
    const onMessage = random
      ? answering(session, random, journal, {
          sent: (key, answer) => journal.answering(task.id, key, answer),
          taken: (key) => journal.answered(task.id, key),
        })
      : undefined;
    const more = {
      waits: true,
      ...(onMessage ? { onMessage } : {}),
      ...(stream.onEvent ? { onEvent: stream.onEvent } : {}),
    };
    const { lastEventId } = stream;
    if (lastEventId !== null) journal.count("streams resumed");
    const reply =
      lastEventId === null
        ? await session.request("tasks/result", { taskId: task.id }, more)
        : await session.resume(lastEventId, more);
    if (reply.kind === "lost") return false;
    // It had been answered before the stream broke.
    if (reply.status === 405) return true;
    const { result, error } = reply.message ?? {};
    const view = `tasks/result of ${REVISION}`;
    const isCancelled = error?.data?.["status"] === "cancelled";
    const outcome = isCancelled ? CANCELLED : outcomeIn({ result, error });
    const isMissing = error?.code === NOT_FOUND && !isCancelled;
    if (isMissing || !outcome) this.#without(task, view, reply, journal);
    else journal.saw(task.id, { view, text: reply.text, status: "settled", sent: -Infinity, outcome });
    return true;
  }

  #without(task: Acknowledged, view: string, reply: Answered, journal: Journal): void {
    if (reply.message?.error?.code === NOT_FOUND) journal.missing(task.id, view, this.#server.now());
    else refusal(journal, `${view} for ${task.id}`, reply);
  }
}
