import { DurableObject } from "cloudflare:workers";
import type { Owner, TaskDraft } from "../src/task/task";
import { TaskHost } from "../src/service/task-host";
import type { Examined } from "../src/service/task-index";
import type { Command, Polled, ReadOptions, TaskSnapshot, Told } from "../src/service/task-store";
import type { WorkAct, Worked } from "../src/service/work";
import { FeedHub } from "../src/service/feed-hub";
import { queueCalls } from "../src/service/queue-offer";
import { durableQueues } from "./durable-queues";
import { durableSessions } from "./durable-sessions";
import { durableWorkflows } from "./durable-workflows";
import { feedEnd, feedWish, isFull, isUpgrade, openEnds, openFeed } from "./feed-socket";
import { indexOf, type TaskCalls } from "./rpc";
import { sqlShelf } from "./task-shelf";
import type { Bindings, Wiring } from "./wiring";

/** One task. The object persists, announces and runs; `TaskHost` and the pure machine behind it decide. */
export class TaskObjectBase extends DurableObject<Bindings> implements TaskCalls {
  readonly #host: TaskHost;
  readonly #hub = new FeedHub(() => openEnds(this.ctx));

  constructor(ctx: DurableObjectState, env: Bindings, wiring: Wiring) {
    super(ctx, env);
    const config = wiring.configOf(env);
    const sessions = durableSessions({ objects: env });
    this.#host = new TaskHost({
      shelf: sqlShelf(ctx.storage, (at) => at - wiring.clock() + Date.now()),
      clock: wiring.clock,
      random: Math.random,
      registry: wiring.registry,
      limits: config.limits,
      fetch: wiring.fetchFor(config),
      letters: wiring.letters,
      post: wiring.postFor(config),
      log: wiring.log,
      mirror: (task, mirror) => indexOf(env, task).mirror(mirror),
      touch: (task) => indexOf(env, task).touch(task.id, task.version, task.stage.phase),
      announce: (message, last) => this.#hub.announce(message, last),
      deliver: (open, fresh) => this.#hub.settle(open, fresh),
      asking: async ({ id, client }) => client.session && sessions.asking(client.session, id),
      queues: queueCalls(durableQueues(env), wiring.clock),
      workflows: durableWorkflows(env, wiring.log),
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

  async read(owner: Owner, options?: ReadOptions): Promise<TaskSnapshot | null> {
    return this.#host.read(owner, options);
  }

  async poll(owner: Owner, options?: ReadOptions): Promise<Polled | null> {
    return this.#host.poll(owner, options);
  }

  async tell(owner: Owner, command: Command): Promise<Told | null> {
    return this.#host.tell(owner, command);
  }

  async work(act: WorkAct): Promise<Worked | null> {
    return this.#host.work(act);
  }

  async examine(): Promise<Examined> {
    return this.#host.examine();
  }

  override async alarm(): Promise<void> {
    await this.#host.alarm();
  }

  /** The task's feed; 404 when there is nothing the owner may see. */
  override async fetch(request: Request): Promise<Response> {
    if (!isUpgrade(request)) return new Response(null, { status: 426 });
    const { owner, after, deliver } = feedWish(request);
    const attached = this.#host.attach(owner, after);
    if (!attached) return new Response(null, { status: 404 });
    // Only who may see the task learns that it is much watched.
    if (isFull(this.ctx, request)) return new Response(null, { status: 429 });
    const { socket, response } = openFeed(this.ctx);
    const end = feedEnd(socket);
    this.#hub.welcome(end, deliver, attached.messages, this.#host.openQuestions());
    if (attached.ended) end.close();
    return response;
  }

  override async webSocketMessage(): Promise<void> {
    // A feed only speaks.
  }

  /** Whoever carried the questions may be gone: the next one gets them. */
  override async webSocketClose(): Promise<void> {
    this.#hub.settle(this.#host.openQuestions());
  }

  override async webSocketError(): Promise<void> {
    this.#hub.settle(this.#host.openQuestions());
  }
}

/** The class the platform makes: it passes context and env only, so the wiring is closed over. */
export const taskObject = (wiring: Wiring) =>
  class extends TaskObjectBase {
    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env, wiring);
    }
  };
