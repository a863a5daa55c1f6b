import { DurableObject } from "cloudflare:workers";
import type { Owner, TaskDraft } from "../src/task/task";
import { TaskHost } from "../src/service/task-host";
import type { TaskCalls, TaskCreated } from "../src/service/indexed-task-store";
import type { Examined } from "../src/service/task-index";
import type { Command, Polled, ReadOptions, TaskSnapshot, Told } from "../src/service/task-store";
import type { WorkAct, Worked } from "../src/service/work";
import { FeedHub } from "../src/service/feed-hub";
import { feedEnd, feedWish, openEnds, openFeed } from "./feed-socket";
import { indexOf, type TaskWish } from "./rpc";
import { runParts } from "./run-parts";
import { sqlShelf } from "./task-shelf";
import type { Bindings, Wiring } from "./wiring";

/** One task. The object persists, announces and runs; `TaskHost` and the pure machine behind it decide. */
export const taskObject = (wiring: Wiring) =>
  class extends DurableObject<Bindings> implements TaskCalls {
    readonly #host: TaskHost;
    readonly #hub = new FeedHub(() => openEnds(this.ctx));

    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env);
      this.#host = new TaskHost({
        ...runParts(wiring, env),
        shelf: sqlShelf(ctx.storage, (at) => at - wiring.clock() + Date.now()),
        mirror: (task, mirror) => indexOf(env, task).mirror(mirror),
        touch: (task) => indexOf(env, task).touch(task.id, task.version, task.stage.phase),
        announce: (message, last) => this.#hub.announce(message, last),
        deliver: (open, fresh) => this.#hub.settle(open, fresh),
        keepAlive: (work) => ctx.waitUntil(work),
      });
    }

    /** `late` past the reservation's deadline; a repeated create gets the task that is there. */
    async create(draft: TaskDraft, deadline: number): Promise<TaskCreated> {
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
      const wish = feedWish<TaskWish>(request);
      const attached = this.#host.attach(wish.owner, wish.after);
      // Only who may see the task learns that it is much watched.
      if (!attached) return new Response(null, { status: 404 });
      return openFeed(this.ctx, wish, (socket) => {
        const end = feedEnd(socket);
        this.#hub.welcome(end, wish.deliver, attached.messages, this.#host.openQuestions());
        if (attached.ended) end.close();
      });
    }

    /** Whoever carried the questions may be gone: the next one gets them. */
    override async webSocketClose(): Promise<void> {
      this.#hub.settle(this.#host.openQuestions());
    }

    override async webSocketError(): Promise<void> {
      this.#hub.settle(this.#host.openQuestions());
    }
  };
