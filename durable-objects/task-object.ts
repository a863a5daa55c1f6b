import { DurableObject } from "cloudflare:workers";
import type { Owner, TaskDraft } from "../src/task/task";
import { TaskHost } from "../src/service/task-host";
import type { Examined } from "../src/service/task-index";
import type { Command, TaskFeedMessage, TaskSnapshot, Told } from "../src/service/task-store";
import { broadcast, openFeed } from "./feed-socket";
import { indexOf, type TaskCalls } from "./rpc";
import { sqlShelf } from "./task-shelf";
import type { Bindings, Wiring } from "./wiring";

/** One task. The object persists, announces and runs; `TaskHost` and the pure machine behind it decide. */
export class TaskObjectBase extends DurableObject<Bindings> implements TaskCalls {
  readonly #host: TaskHost;

  constructor(ctx: DurableObjectState, env: Bindings, wiring: Wiring) {
    super(ctx, env);
    const config = wiring.configOf(env);
    this.#host = new TaskHost({
      shelf: sqlShelf(ctx.storage, (at) => at - wiring.clock() + Date.now()),
      clock: wiring.clock,
      random: Math.random,
      registry: wiring.registry,
      limits: config.limits,
      fetch: wiring.fetchFor(config),
      log: wiring.log,
      mirror: (task, mirror) => indexOf(env, task).mirror(mirror),
      touch: (task) => indexOf(env, task).touch(task.id, task.version, task.stage.phase),
      announce: (message, last) => broadcast(ctx, message, last),
      keepAlive: (work) => ctx.waitUntil(work),
    });
  }

  /** `late` past the reservation's deadline; a repeated create gets the task that is there. */
  async create(
    draft: TaskDraft,
    deadline: number,
  ): Promise<{ kind: "created" | "existing"; task: TaskSnapshot } | { kind: "late" }> {
    return this.#host.create(draft, deadline);
  }

  async read(owner: Owner): Promise<TaskSnapshot | null> {
    return this.#host.read(owner);
  }

  async tell(owner: Owner, command: Command): Promise<Told | null> {
    return this.#host.tell(owner, command);
  }

  async examine(): Promise<Examined> {
    return this.#host.examine();
  }

  override async alarm(): Promise<void> {
    await this.#host.alarm();
  }

  /** The task's feed: a WebSocket that hibernates, so that nobody pays for waiting. */
  override async fetch(request: Request): Promise<Response> {
    return openFeed(
      this.ctx,
      request,
      (owner, after): { messages: readonly TaskFeedMessage[]; ended: boolean } | null =>
        this.#host.attach(owner, after),
    );
  }

  override async webSocketMessage(): Promise<void> {
    // A feed only speaks.
  }
}

/** The class the platform makes: it passes context and env only, so the wiring is closed over. */
export const taskObject = (wiring: Wiring) =>
  class extends TaskObjectBase {
    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env, wiring);
    }
  };
