// MCP 2026-07-28: clients with the Tasks extension, and ones without it whose calls are held open.
import type { Acknowledged, Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import { OWNERS, type OwnerName, type Server } from "../server.ts";
import type { Answered, Fields, Message } from "../wire.ts";
import type { Door } from "./door.ts";
import { anyAnswer, anyCall, anyErrand } from "./errands.ts";
import { forEach } from "./for-each.ts";
import { holdCall } from "./held-call.ts";
import { MODERN, requestModern } from "./modern-client.ts";
import { isAtCap, refusal } from "./refusals.ts";
import { expiryOf, sightOf2026 } from "./sights.ts";
import { Waits } from "./waits.ts";

const NOT_FOUND = -32602;

export class Mcp2026 implements Door {
  readonly name = MODERN;
  readonly weight = 4;
  readonly #server: Server;
  readonly #waits = new Waits(`A listener of MCP ${MODERN}`, 8);

  constructor(server: Server) {
    this.#server = server;
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const what = random.next();
    const tasks = journal.live();
    if (what < 0.4 || tasks.length === 0) return this.#create(random, journal);
    if (what < 0.5) return this.#hold(random, journal);
    const task = random.of(tasks);
    if (what < 0.9) return this.#lookAfter(task, random, journal);
    if (what < 0.93) return this.#cancel(task, journal);
    const some = journal.live(task.owner).slice(-5);
    this.#waits.begin(`the tasks ${some.map(({ id }) => id).join(", ")}`, journal, () => this.#listen(some, journal));
  }

  async verify(journal: Journal): Promise<void> {
    await this.#waits.answered(journal);
    await forEach(journal.tasks.values(), (task) => this.get(task, journal));
  }

  /** What it read as; null when there was no answer. */
  async get(task: Acknowledged, journal: Journal): Promise<string | null> {
    const sent = journal.now();
    const view = `tasks/get of ${MODERN}`;
    const reply = await requestModern(this.#server, task.owner, "tasks/get", { taskId: task.id });
    if (reply.kind === "lost") return null;
    const { result } = reply.message ?? {};
    if (result) journal.saw(task.id, sightOf2026(result, { view, text: reply.text, sent }));
    else this.#without(task, view, reply, journal);
    return reply.text;
  }

  /** Answers all that it was last seen to ask. */
  async answer(task: Acknowledged, random: Random, journal: Journal): Promise<void> {
    const { id, owner, open } = task;
    const inputResponses = Object.fromEntries(open.map((key) => [key, anyAnswer(random)]));
    for (const key of open) journal.answering(id, key, JSON.stringify(inputResponses[key]));
    const reply = await requestModern(this.#server, owner, "tasks/update", { taskId: id, inputResponses });
    if (reply.kind === "lost") return;
    if (!reply.message?.result) return this.#without(task, `tasks/update of ${MODERN}`, reply, journal);
    for (const key of open) journal.answered(id, key);
  }

  /** Polls, as a client would, and mostly answers what it is asked. */
  async #lookAfter(task: Acknowledged, random: Random, journal: Journal): Promise<void> {
    await this.get(task, journal);
    if (task.open.length > 0 && random.chance(0.7)) await this.answer(task, random, journal);
  }

  async #cancel(task: Acknowledged, journal: Journal): Promise<void> {
    const reply = await requestModern(this.#server, task.owner, "tasks/cancel", { taskId: task.id });
    if (reply.kind === "lost") return;
    if (reply.message?.result) journal.cancelled(task.id);
    else this.#without(task, `tasks/cancel of ${MODERN}`, reply, journal);
  }

  /** With a key it is the same call however often it is made; now and then it is made again for nothing. */
  async #create(random: Random, journal: Journal): Promise<void> {
    const owner = random.of(OWNERS);
    const { name, errand } = anyCall(random, journal);
    const key = random.chance(0.6) ? `key-of-${errand.note}` : undefined;
    let times = key !== undefined && random.chance(0.2) ? 2 : 1;
    while (times > 0) {
      const params = { name, arguments: errand };
      const reply = await requestModern(this.#server, owner, "tools/call", params, { key });
      if (reply.kind === "lost") {
        journal.count("calls lost");
        if (key === undefined) return;
        continue;
      }
      if (isAtCap(reply)) return this.#makeRoom(owner, journal);
      times -= 1;
      const { result } = reply.message ?? {};
      if (result?.["resultType"] !== "task") return refusal(journal, `The call of ${errand.note}`, reply);
      const expiresAt = expiryOf(result, "ttlMs");
      journal.acknowledged(String(result["taskId"]), { door: this.name, owner, note: errand.note, expiresAt });
    }
  }

  async #hold(random: Random, journal: Journal): Promise<void> {
    const owner = random.of(OWNERS);
    const hasRoom = await holdCall(this.#server, owner, anyErrand(random, journal), random, journal);
    if (!hasRoom) await this.#makeRoom(owner, journal);
  }

  async #makeRoom(owner: OwnerName, journal: Journal): Promise<void> {
    journal.count("refused at the cap");
    const [oldest] = journal.live(owner);
    if (oldest) await this.#cancel(oldest, journal);
  }

  /** Whether the stream came to its end. */
  async #listen(tasks: readonly Acknowledged[], journal: Journal): Promise<boolean> {
    const [first] = tasks;
    if (!first) return true;
    const onMessage = ({ method, params }: Message, text: string): void => {
      if (method !== "notifications/tasks" || !params) return;
      // What is told of a task that has expired is no word of the task's own.
      if ((params["error"] as Fields | undefined)?.["code"] === NOT_FOUND) return;
      const seen = { view: `a listener of ${MODERN}`, text, sent: -Infinity };
      journal.saw(String(params["taskId"]), sightOf2026(params, seen));
    };
    const params = { notifications: { taskIds: tasks.map(({ id }) => id) } };
    const listening = { onMessage, waits: true };
    const reply = await requestModern(this.#server, first.owner, "subscriptions/listen", params, listening);
    if (reply.kind === "lost") return false;
    if (!reply.message?.result) refusal(journal, "subscriptions/listen", reply);
    return true;
  }

  #without({ id }: Acknowledged, view: string, reply: Answered, journal: Journal): void {
    if (reply.message?.error?.code === NOT_FOUND) journal.missing(id, view, this.#server.now());
    else refusal(journal, `${view} for ${id}`, reply);
  }
}
