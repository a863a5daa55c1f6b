import { DurableObject } from "cloudflare:workers";
import type { Rank } from "../src/service/carrier";
import { MemoryTaskStore } from "../src/service/memory-task-store";
import type {
  Command,
  Created,
  IdempotencyKey,
  OwnerFeedMessage,
  Polled,
  ReadOptions,
  SweepReport,
  TaskFeedMessage,
  TaskListPage,
  TaskListQuery,
  TaskRef,
  TaskSearch,
  TaskSearchPage,
  TaskSnapshot,
  TaskStore,
  Told,
} from "../src/service/task-store";
import type { WorkAct, Worked } from "../src/service/work";
import type { TaskDraft } from "../src/task/task";
import { decodeTaskId, randomTaskId } from "../src/task-id";
import { queueCalls } from "../src/service/queue-offer";
import { durableQueues } from "./durable-queues";
import { durableSessions } from "./durable-sessions";
import { durableWorkflows } from "./durable-workflows";
import { attach, ownerFeed, taskFeed } from "./feed";
import { FEED_ENDED } from "./feed-socket";
import { calling, callingOnce } from "./object-call";
import type { Bindings, Wiring } from "./wiring";

/** A feed's request: which one, as JSON in a header. */
const FEED_HEADER = "x-holdfast-feed";

type FeedRequest =
  | { readonly kind: "task"; readonly ref: TaskRef; readonly after?: number; readonly deliver?: Rank }
  | { readonly kind: "owner"; readonly namespace: string; readonly owner: string };

/** `TASK_STORE=memory`: one object that holds every task and persists nothing. When it goes, they are gone. */
export class MemoryObjectBase extends DurableObject<Bindings> {
  readonly #store: MemoryTaskStore;

  constructor(ctx: DurableObjectState, env: Bindings, wiring: Wiring) {
    super(ctx, env);
    const config = wiring.configOf(env);
    const { registry, clock, log, letters } = wiring;
    const { asking } = durableSessions({ objects: env });
    const fetch = wiring.fetchFor(config);
    const queues = queueCalls(durableQueues(env), clock);
    const workflows = durableWorkflows(env, log);
    this.#store = new MemoryTaskStore({
      registry,
      clock,
      log,
      limits: config.limits,
      fetch,
      letters,
      post: wiring.postFor(config),
      asking,
      queues,
      workflows,
    });
  }

  async create(draft: TaskDraft, idempotency?: IdempotencyKey): Promise<Created> {
    return this.#store.create(draft, idempotency);
  }

  async read(ref: TaskRef, options?: ReadOptions): Promise<TaskSnapshot | null> {
    return this.#store.read(ref, options);
  }

  async poll(ref: TaskRef, options?: ReadOptions): Promise<Polled | null> {
    return this.#store.poll(ref, options);
  }

  async admit(address: string): Promise<number | null> {
    return this.#store.admit(address);
  }

  async tell(ref: TaskRef, command: Command): Promise<Told | null> {
    return this.#store.tell(ref, command);
  }

  async work(id: string, act: WorkAct): Promise<Worked | null> {
    return this.#store.work(id, act);
  }

  async list(query: TaskListQuery): Promise<TaskListPage> {
    return this.#store.list(query);
  }

  async search(query: TaskSearch): Promise<TaskSearchPage> {
    return this.#store.search(query);
  }

  async sweep(budget: number): Promise<SweepReport> {
    return this.#store.sweep(budget);
  }

  override async fetch(request: Request): Promise<Response> {
    const wanted = JSON.parse(decodeURIComponent(request.headers.get(FEED_HEADER) ?? "null")) as FeedRequest;
    const left = new AbortController();
    const { signal } = left;
    const feed =
      wanted.kind === "task"
        ? await this.#store.watch(wanted.ref, { ...wanted, signal })
        : this.#store.listen(wanted.namespace, wanted.owner, signal);
    if (!feed) return new Response(null, { status: 404 });
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    server.addEventListener("close", () => left.abort());
    this.ctx.waitUntil(pump(feed, server));
    return new Response(null, { status: 101, webSocket: client });
  }
}

/** The class the platform makes: it passes context and env only, so the wiring is closed over. */
export const memoryObject = (wiring: Wiring) =>
  class extends MemoryObjectBase {
    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env, wiring);
    }
  };

/** The Worker's side of it. */
export function memoryObjectStore(objects: Bindings): TaskStore {
  const object = () =>
    objects.MEMORY.getByName("memory") as unknown as TaskStore & {
      fetch(url: string, init: RequestInit): Promise<Response>;
    };
  const open = <M>(wanted: FeedRequest, signal: AbortSignal) =>
    attach<M>(object(), { [FEED_HEADER]: encodeURIComponent(JSON.stringify(wanted)) }, signal);
  return {
    mint: () => randomTaskId((bytes) => crypto.getRandomValues(bytes)),
    recognises: (id) => decodeTaskId(id) !== null,
    create: (draft, idempotency) => callingOnce(() => object().create(draft, idempotency)),
    read: (ref, options) => calling(() => object().read(ref, options)),
    // What is tried out on one's own machine needs no such bound.
    occupy: async () => {},
    poll: (ref, options) => calling(() => object().poll(ref, options)),
    admit: (address) => calling(() => object().admit(address)),
    tell: (ref, command) => callingOnce(() => object().tell(ref, command)),
    work: (id, act) => calling(() => object().work(id, act)),
    list: (query) => calling(() => object().list(query)),
    search: (query) => calling(() => object().search(query)),
    pushes: true,
    sweep: (budget) => callingOnce(() => object().sweep(budget)),
    watch: async (ref, { after, deliver = 0, signal }) => {
      const from = (seq: number | undefined) =>
        open<TaskFeedMessage>({ kind: "task", ref, deliver, ...(seq === undefined ? {} : { after: seq }) }, signal);
      const first = await calling(() => from(after));
      return first && taskFeed(first, from, after, signal);
    },
    listen: (namespace, owner, signal) =>
      ownerFeed(() => open<OwnerFeedMessage>({ kind: "owner", namespace, owner }, signal), signal),
  };
}

async function pump(feed: AsyncIterable<unknown>, socket: WebSocket): Promise<void> {
  try {
    for await (const message of feed) socket.send(JSON.stringify(message));
    socket.close(FEED_ENDED);
  } catch {
    // The reader left; its close event ends the feed.
  }
}
