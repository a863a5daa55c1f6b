import { vi } from "vitest";
import type { HostParts } from "../../src/service/host-parts";
import type { Limits } from "../../src/service/limits";
import { MemoryShelf } from "../../src/service/memory-shelf";
import type { Letter, Letters } from "../../src/service/push-letter";
import { safeFetch } from "../../src/service/safe-fetch";
import { TaskHost } from "../../src/service/task-host";
import type { LogEntry, PushTarget, PushWish, Task, TaskDraft } from "../../src/task/task";
import { defineTool } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";
import { limits } from "./memory";
import { noQueues } from "./no-queues";
import { draft } from "./task";

export type Post = {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
  readonly signal: AbortSignal;
  readonly at: number;
};

type Answer = (post: Post) => Response | Promise<Response>;

export const arrived: Answer = () => new Response(null, { status: 204 });
export const never: Answer = () => new Promise(() => {});

export const targetOf = (id: string, over: Partial<PushTarget> = {}): PushTarget => ({
  id,
  url: `https://${id}.example.com/hook`,
  token: null,
  authentication: null,
  wire: "test/1.0",
  cursor: 0,
  failures: 0,
  retryAt: null,
  dead: [],
  ...over,
});

/** The same as its owner asks for it. */
export const wishFor = (id: string, over: Partial<PushWish> = {}): PushWish => {
  const { url, token, authentication, wire } = targetOf(id, over);
  return { id, url, token, authentication, wire };
};

export const SILENT: readonly LogEntry["event"][] = ["started", "stepped", "restarted"];

export const letterOf = ({ seq, event }: LogEntry): Letter => ({
  seq,
  body: `${seq} ${event}`,
  contentType: "text/plain",
});

const oneEach: Letters = async (_task, entries) =>
  entries.filter(({ event }) => !SILENT.includes(event)).map((entry) => letterOf(entry));

/** Goes on until it is stopped. */
const hang = (task: TaskContext): Promise<string> =>
  new Promise((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)));

/**
 * One task in its host, on a shelf that outlives it, with a clock that the test moves (`vi.useFakeTimers`) and a network
 * that it answers for.
 */
export function pushing(
  targets: readonly PushTarget[],
  over: Partial<Pick<HostParts, "letters" | "random">> & {
    readonly run?: (task: TaskContext) => Promise<string>;
    readonly draft?: Partial<TaskDraft>;
    readonly limits?: Partial<Limits>;
  } = {},
) {
  const posts: Post[] = [];
  const lines: object[] = [];
  let answer: Answer = arrived;
  const network = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const post = { url, headers: new Headers(init.headers), body: String(init.body), at: Date.now() };
    posts.push({ ...post, signal: init.signal as AbortSignal });
    return answer(posts.at(-1) as Post);
  };
  const run = over.run ?? hang;
  const facts = { name: "tool", description: "Does what the test says.", task: "optional" } as const;
  const tool = defineTool({ ...facts, input: { type: "object" }, run: (_, task) => run(task) });
  const shelf = new MemoryShelf(Date.now, () => void host.alarm());
  let life = 0;
  /** A process that holds the task; the one before it is dead, and stores nothing any more. */
  const boot = (): TaskHost => {
    const own = (life += 1);
    const living =
      <A extends unknown[], R>(act: (...args: A) => R) =>
      (...args: A): R => {
        if (own !== life) throw new Error("This process is dead.");
        return act(...args);
      };
    return new TaskHost({
      shelf: {
        load: () => shelf.load(),
        entries: (after) => shelf.entries(after),
        commit: living((...change: Parameters<MemoryShelf["commit"]>) => shelf.commit(...change)),
        setAlarm: living((at: number | null) => shelf.setAlarm(at)),
        clear: living(() => shelf.clear()),
      },
      clock: Date.now,
      random: over.random ?? Math.random,
      registry: createRegistry([tool]),
      limits: { ...limits, ...over.limits },
      fetch: () => Promise.reject(new Error("This tool fetches nothing.")),
      letters: over.letters ?? oneEach,
      post: safeFetch({ allowLocal: false, secure: true }, network),
      mirror: async () => ({ watched: false }),
      touch: async () => ({ watched: false }),
      announce: () => {},
      deliver: () => {},
      asking: async () => {},
      keepAlive: (work) => void work,
      log: (level, message, data) => void lines.push({ level, message, ...data }),
      queues: noQueues,
    });
  };
  let host = boot();
  host.create(draft({ createdAt: Date.now(), ttlMs: null, push: targets, owner: "o", ...over.draft }), Infinity);
  let said = 0;
  return {
    posts,
    lines,
    shelf,
    host: () => host,
    crash: () => void (host = boot()),
    answer: (next: Answer) => void (answer = next),
    task: () => shelf.load() as Task,
    target: (id: string) => (shelf.load() as Task).push.find((one) => one.id === id) as PushTarget,
    bodies: (host?: string) => posts.filter(({ url }) => !host || url.includes(`//${host}.`)).map(({ body }) => body),
    /** Something happens to the task that its targets are to hear of. */
    say: async () => {
      const turn = { id: `m${(said += 1)}`, digest: "d", message: "{}" };
      return host.tell("o", { kind: "say", turn, statusMessage: `Said ${said}.` });
    },
    tell: (command: Parameters<TaskHost["tell"]>[1]) => host.tell("o", command),
    pass: (ms = 0) => vi.advanceTimersByTimeAsync(ms),
  };
}
