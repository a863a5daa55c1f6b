// A2A 1.0, and 0.3 now and then: messages begin tasks and go on with them, and streams are followed to their ends.
import type { Acknowledged, Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import { OWNERS, type OwnerName, type Server } from "../server.ts";
import { messageIn, METHODS, nextMessage, requestA2a, taskIn, type A2aTask, type A2aVersion } from "./a2a-client.ts";
import { followUp } from "./a2a-follow-up.ts";
import { sawA2a, withoutTask } from "./a2a-sights.ts";
import { followToEnd } from "./a2a-stream.ts";
import type { Door } from "./door.ts";
import { anyCall } from "./errands.ts";
import { forEach } from "./for-each.ts";
import { isAtCap, refusal } from "./refusals.ts";
import { Waits } from "./waits.ts";

const NOT_CANCELABLE = -32002;
/** How many of the tasks that have ended are read again in each life. */
const READ_AGAIN = 30;

export class A2a implements Door {
  readonly name = "A2A";
  readonly weight = 4;
  readonly #server: Server;
  readonly #waits = new Waits("A subscriber of A2A", 8);
  #life = 1;

  constructor(server: Server) {
    this.#server = server;
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const life = await this.#server.up();
    if (life !== this.#life) {
      this.#life = life;
      return this.#readAgain(random, journal);
    }
    const what = random.next();
    const tasks = journal.live();
    if (what < 0.4 || tasks.length === 0) return this.#create(random, journal);
    const task = random.of(tasks);
    if (what < 0.8) return this.#lookAfter(task, random, journal);
    if (what < 0.84) return this.#cancel(task, journal);
    if (what < 0.9) return void (await this.#list(task.owner, random.between(1, 30), journal));
    this.#waits.begin(`the end of ${task.id}`, journal, async () => {
      const how = await followToEnd(this.#server, task, journal);
      if (how !== "ended before") return how === "followed";
      // Then it reads so, whoever asks.
      const isAnswered = await this.#get(task, "1.0", journal);
      if (isAnswered && task.settledSeen === null && !task.gone)
        journal.found("an end to each stream", `The task ${task.id} was said to have ended, and has not.`);
      return isAnswered;
    });
  }

  async verify(journal: Journal): Promise<void> {
    await this.#waits.answered(journal);
    await forEach(journal.tasks.values(), async (task) => {
      await this.#get(task, "1.0", journal);
      await this.#get(task, "0.3", journal);
    });
    for (const owner of OWNERS) {
      const listed = await this.#list(owner, null, journal);
      for (const task of journal.tasks.values())
        if (task.owner === owner && listed?.has(task.id) === false)
          journal.missing(task.id, "ListTasks", this.#server.now());
    }
  }

  /** What has ended reads after a death as it did before. */
  async #readAgain(random: Random, journal: Journal): Promise<void> {
    const ended = [...journal.tasks.values()].filter(({ settledSeen, gone }) => settledSeen !== null && !gone);
    const some = ended.filter(() => random.chance(READ_AGAIN / ended.length));
    await forEach(some, (task) => this.#get(task, "1.0", journal));
    journal.count("ends read again", some.length);
  }

  async #lookAfter(task: Acknowledged, random: Random, journal: Journal): Promise<void> {
    const version = anyVersion(random);
    await this.#get(task, version, journal);
    if (task.open.length > 0 && random.chance(0.7)) await followUp(this.#server, task, version, random, journal);
  }

  /** Whether it was answered. */
  async #get(task: Acknowledged, version: A2aVersion, journal: Journal): Promise<boolean> {
    const sent = journal.now();
    const method = METHODS[version].get;
    const reply = await requestA2a(this.#server, task.owner, method, { id: task.id });
    if (reply.kind === "lost") return false;
    const told = taskIn(reply);
    if (told) sawA2a(this.#server, told, { version, sent }, journal);
    else withoutTask(this.#server, task, method, reply, journal);
    return true;
  }

  /** Who leaves is told nothing, and what he asked for is done all the same, or not: as if the server had died. */
  async #create(random: Random, journal: Journal): Promise<void> {
    const owner = random.of(OWNERS);
    const { name, errand } = anyCall(random, journal);
    const version = anyVersion(random);
    const waits = random.chance(0.5);
    const key = random.chance(0.6) ? `key-of-${errand.note}` : undefined;
    const message = messageIn(version, nextMessage(), [{ data: { skill: name, arguments: errand } }]);
    const params = { message, configuration: METHODS[version].configuration(waits) };
    let leavesAfterMs = waits && random.chance(0.4) ? random.below(800) : null;
    let times = key !== undefined && random.chance(0.2) ? 2 : 1;
    while (times > 0) {
      const sent = journal.now();
      const more = leavesAfterMs === null ? { key } : { key, signal: AbortSignal.timeout(leavesAfterMs) };
      const reply = await requestA2a(this.#server, owner, METHODS[version].send, params, more);
      if (reply.kind === "lost") {
        journal.count(leavesAfterMs === null ? "calls lost" : "calls left");
        if (key === undefined) return;
        leavesAfterMs = null;
        continue;
      }
      if (isAtCap(reply)) return this.#makeRoom(owner, journal);
      times -= 1;
      const task = taskIn(reply);
      if (!task) return refusal(journal, `The message of ${errand.note}`, reply);
      journal.acknowledged(task.id, { door: `A2A ${version}`, owner, note: errand.note });
      sawA2a(this.#server, task, { version, sent }, journal);
    }
  }

  async #cancel(task: Acknowledged, journal: Journal): Promise<void> {
    const sent = journal.now();
    const reply = await requestA2a(this.#server, task.owner, "CancelTask", { id: task.id });
    if (reply.kind === "lost") return;
    const told = taskIn(reply);
    if (told) sawA2a(this.#server, told, { version: "1.0", sent }, journal);
    // It had ended already; that is no less final.
    if (told || reply.message?.error?.code === NOT_CANCELABLE) return journal.cancelled(task.id);
    withoutTask(this.#server, task, "CancelTask", reply, journal);
  }

  async #makeRoom(owner: OwnerName, journal: Journal): Promise<void> {
    journal.count("refused at the cap");
    const [oldest] = journal.live(owner);
    if (oldest) await this.#cancel(oldest, journal);
  }

  /** The ids of one page, or of all; null where they could not be had. */
  async #list(owner: OwnerName, pageSize: number | null, journal: Journal): Promise<ReadonlySet<string> | null> {
    const listed = new Set<string>();
    const wish = { pageSize: pageSize ?? 100, includeArtifacts: true, historyLength: 100 };
    let pageToken: unknown = "";
    do {
      const sent = journal.now();
      const reply = await requestA2a(this.#server, owner, "ListTasks", { ...wish, pageToken });
      if (reply.kind === "lost") return null;
      const { result } = reply.message ?? {};
      if (!result) {
        refusal(journal, "ListTasks", reply);
        return null;
      }
      for (const task of result["tasks"] as readonly A2aTask[]) {
        listed.add(task.id);
        sawA2a(this.#server, task, { version: "1.0", sent }, journal);
      }
      pageToken = result["nextPageToken"] ?? "";
    } while (pageSize === null && pageToken !== "");
    return listed;
  }
}

const anyVersion = (random: Random): A2aVersion => (random.chance(0.15) ? "0.3" : "1.0");
