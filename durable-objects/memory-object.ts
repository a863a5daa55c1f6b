import { DurableObject } from "cloudflare:workers";
import type { Rank } from "../src/service/carrier";
import { MemoryTaskStore } from "../src/service/memory-task-store";
import type { OwnerFeedMessage, TaskFeedMessage, TaskRef, TaskStore } from "../src/service/task-store";
import { decodeTaskId, randomTaskId } from "../src/task-id";
import { attach, ownerFeed, taskFeed } from "./feed";
import { FEED_ENDED, feedWish, send, type Crowd } from "./feed-socket";
import { calling, callingOnce } from "./object-call";
import type { Attachable } from "./rpc";
import { runParts } from "./run-parts";
import type { Bindings, Wiring } from "./wiring";

/** Which feed is wanted. */
type MemoryWish = Crowd &
  (
    | { readonly ref: TaskRef; readonly after: number | undefined; readonly deliver: Rank }
    | { readonly ref: null; readonly namespace: string; readonly owner: string }
  );

/** What the object is asked of its store: plain data in and out. */
type Asked = Pick<TaskStore, "create" | "read" | "poll" | "admit" | "tell" | "work" | "list" | "search" | "sweep">;

type MemoryCalls = { call(name: keyof Asked, given: readonly unknown[]): Promise<unknown> };

/** `TASK_STORE=memory`: one object that holds every task and persists nothing. When it goes, they are gone. */
export const memoryObject = (wiring: Wiring) =>
  class extends DurableObject<Bindings> implements MemoryCalls {
    readonly #store: MemoryTaskStore;

    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, env);
      this.#store = new MemoryTaskStore(runParts(wiring, env));
    }

    async call(name: keyof Asked, given: readonly never[]): Promise<unknown> {
      const asked: Readonly<Record<keyof Asked, (...given: readonly never[]) => Promise<unknown>>> = this.#store;
      return asked[name](...given);
    }

    override async fetch(request: Request): Promise<Response> {
      const wish = feedWish<MemoryWish>(request);
      const left = new AbortController();
      const { signal } = left;
      const feed = wish.ref
        ? await this.#store.watch(wish.ref, { ...wish, signal })
        : this.#store.listen(wish.namespace, wish.owner, signal);
      if (!feed) return new Response(null, { status: 404 });
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      server.addEventListener("close", () => left.abort());
      this.ctx.waitUntil(pump(feed, server));
      return new Response(null, { status: 101, webSocket: client });
    }
  };

/** The Worker's side of it. */
export function memoryObjectStore(objects: Bindings): TaskStore {
  const object = () => objects.MEMORY.getByName("memory") as unknown as MemoryCalls & Attachable;
  // The types are those of the store behind it.
  const asked = <Name extends keyof Asked>(name: Name, called = calling) =>
    ((...given: unknown[]) => called(() => object().call(name, given))) as Asked[Name];
  const open = <M>(wish: MemoryWish, signal: AbortSignal) => attach<M>(object(), wish, signal);
  return {
    mint: () => randomTaskId((bytes) => crypto.getRandomValues(bytes)),
    recognises: (id) => decodeTaskId(id) !== null,
    create: asked("create", callingOnce),
    read: asked("read"),
    // What is tried out on one's own machine needs no such bound.
    occupy: async () => {},
    poll: asked("poll"),
    admit: asked("admit"),
    tell: asked("tell", callingOnce),
    work: asked("work"),
    list: asked("list"),
    search: asked("search"),
    pushes: true,
    sweep: asked("sweep", callingOnce),
    watch: async (ref, { after, deliver = 0, signal }) => {
      const from = (seq: number | undefined) => open<TaskFeedMessage>({ ref, deliver, after: seq }, signal);
      const first = await calling(() => from(after));
      return first && taskFeed(first, from, after, signal);
    },
    listen: (namespace, owner, signal) =>
      ownerFeed(() => open<OwnerFeedMessage>({ ref: null, namespace, owner }, signal), signal),
  };
}

async function pump(feed: AsyncIterable<unknown>, socket: WebSocket): Promise<void> {
  try {
    for await (const message of feed) send(socket, message);
    socket.close(FEED_ENDED);
  } catch {
    // Its reader attaches again.
    socket.close(1011);
  }
}
