// What a claim does when the queue or a task fails it, and what is refused before either is asked.
import { describe, expect, it } from "vitest";
import { MemoryQueue } from "../../src/service/memory-queue";
import type { WorkAct, Worked } from "../../src/service/work";
import type { WorkQueue } from "../../src/service/work-queue";
import { WorkService, type ClaimWish } from "../../src/service/work-service";
import { TaskError } from "../../src/task/errors";
import type { InputRequest, Task } from "../../src/task/task";
import { createTask } from "../../src/task/transition";
import { limits, someone } from "../support/memory";
import { draft } from "../support/task";

const NOW = 1_000_000;
const NEVER = new AbortController().signal;
const worker = someone("worker");
type Claim = Extract<WorkAct, { kind: "claim" }>;

const held = (id: string, { lease }: Claim, over: Partial<Task> = {}): Worked => ({
  kind: "held",
  task: {
    ...createTask(draft({ id, runs: { in: "queue", queue: "q", maxAttempts: null, output: null } })).task,
    stage: { phase: "working", activity: { kind: "running" } },
    lease,
    ...over,
  },
});

type Tell = (id: string, act: WorkAct) => Worked | null | Promise<Worked | null>;

async function setUp(work: Tell, ids = "", change: (queue: WorkQueue) => WorkQueue = (queue) => queue) {
  const queue = new MemoryQueue();
  for (const id of ids) await queue.offer({ id, owner: "o", tool: "tool" });
  const asked: string[] = [];
  const store = {
    recognises: () => true,
    work: async (id: string, act: WorkAct) => {
      asked.push(id);
      return work(id, act);
    },
  };
  const service = new WorkService({ store, queues: () => change(queue), limits, clock: () => NOW });
  const claim = async (wish: Partial<ClaimWish> = {}) => {
    const works = await service.claim(worker, "q", { claimId: "c", worker: "w", max: 100, ...wish }, NEVER);
    return works.map(({ taskId }) => taskId).join("");
  };
  return { queue, asked, service, claim };
}

describe("a claim", () => {
  it("asks each task under the lease that the queue gave it, for as long as was wanted", async () => {
    const acts: WorkAct[] = [];
    const { claim } = await setUp((id, act) => {
      acts.push(act);
      return held(id, act as Claim);
    }, "ab");
    expect(await claim({ leaseMs: 5_000 })).toBe("ab");
    const lease = { id: expect.any(String), until: NOW + 5_000, worker: "w", ms: 5_000 };
    expect(acts).toEqual([
      { kind: "claim", lease },
      { kind: "claim", lease },
    ]);
  });

  it("is answered with what could be had, and gets what failed when it is repeated", async () => {
    let down = true;
    const { claim, asked } = await setUp((id, act) => {
      if (id === "b" && down) throw new TaskError("overloaded", "Busy.");
      return held(id, act as Claim);
    }, "abc");
    expect(await claim()).toBe("ac");
    down = false;
    expect(await claim()).toBe("abc");
    expect(await claim({ claimId: "other" })).toBe("");
    expect(asked.join("")).toBe("abcabc");
  });

  it("fails when all that it could have had failed", async () => {
    const { claim } = await setUp((id) => {
      if (id === "b") throw new TaskError("overloaded", "Busy.");
      return null;
    }, "ab");
    await expect(claim()).rejects.toMatchObject({ code: "overloaded" });
  });

  it("stands when the queue does not hear of it, and can then be repeated", async () => {
    let heard = false;
    const { claim } = await setUp(
      (id, act) => held(id, act as Claim),
      "ab",
      (queue) => ({
        offer: (task) => queue.offer(task, NOW),
        withdraw: (id) => queue.withdraw(id),
        pick: (wish) => queue.pick(wish),
        watch: (signal) => queue.watch(signal),
        agreed: async (...told) => {
          if (!heard) throw new Error("The network is down.");
          await queue.agreed(...told);
        },
      }),
    );
    expect(await claim({ max: 1 })).toBe("a");
    heard = true;
    expect(await claim({ max: 1 })).toBe("a");
    expect(await claim({ max: 1, claimId: "other" })).toBe("b");
  });

  it("goes past any number of tasks that are over, but not for ever", async () => {
    const ids = Array.from({ length: 300 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join("");
    const last = ids.at(-1) as string;
    const { claim, asked } = await setUp((id, act) => (id === last ? held(id, act as Claim) : null), ids);
    expect(await claim()).toBe("");
    expect(asked).toHaveLength(200);
    expect(await claim()).toBe(last);
    expect(new Set(asked).size).toBe(300);
  });

  it("takes no more than fits into memory, and leaves the others to whoever claims when their picks are over", async () => {
    const args = JSON.stringify("x".repeat(5_000_000));
    const { claim, queue, asked } = await setUp(
      (id, act) => held(id, act as Claim, { arguments: args }),
      "abcdefghijkl",
    );
    expect(await claim()).toBe("abcdef");
    expect(asked).toHaveLength(6);
    const later = { key: "k", max: 100, now: NOW + 30_000, until: NOW + 60_000, tools: null };
    expect((await queue.pick(later)).map(({ id }) => id).join("")).toBe("ghijkl");
  });

  it.each<[string, string]>([
    ["a queue without a name", ""],
    ["a queue's name with a slash", "a/b"],
    ["a queue's name that is too long", "q".repeat(65)],
  ])("that wants %s is refused", async (_, queue) => {
    const { service, asked } = await setUp(() => null, "a");
    const whole = { claimId: "c", worker: "w" };
    await expect(service.claim(worker, queue, whole, NEVER)).rejects.toMatchObject({ code: "invalid" });
    expect(asked).toEqual([]);
  });
});

describe("a report", () => {
  const reporting = () => setUp((id, act) => (act.kind === "claim" ? null : held(id, { kind: "claim", lease: LEASE })));
  const LEASE = { id: "l", until: NOW + 1, worker: "w" };
  const question = (params: InputRequest["params"], method: string = "elicitation/create") =>
    ({ method, params }) as InputRequest;
  const form = { mode: "form", message: "Sure?", requestedSchema: { type: "object" } };

  it.each<[string, Readonly<Record<string, InputRequest>>]>([
    ["nothing", {}],
    ["without a message", { k: question({ ...form, message: 1 }) }],
    ["without a form", { k: question({ mode: "form", message: "Sure?" }) }],
    ["with a form that is none", { k: question({ ...form, requestedSchema: { type: "string" } }) }],
    ["for a URL that is none", { k: question({ mode: "url", message: "Go.", url: "javascript:1" }) }],
    ["for a sample of nothing", { k: question({}, "sampling/createMessage") }],
    ["under no key", { "": question(form) }],
    ["more than can be read", Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, question(form)]))],
  ])("that asks %s is refused", async (_, questions) => {
    const { service, asked } = await reporting();
    await expect(service.ask("t", { lease: "l", questions })).rejects.toMatchObject({ code: "invalid" });
    expect(asked).toEqual([]);
  });

  it("may ask anything that a tool may, under any key", async () => {
    let told: WorkAct | undefined;
    const { service } = await setUp((id, act) => {
      told = act;
      return held(id, { kind: "claim", lease: LEASE });
    });
    const questions = Object.fromEntries([
      ["__proto__", question({ ...form, requestedSchema: { type: "object" }, extra: 1 })],
      ["url", question({ mode: "url", message: "Go.", url: "https://example.com" })],
      ["roots", question({}, "roots/list")],
      ["sample", question({ messages: [], maxTokens: 5 }, "sampling/createMessage")],
    ]);
    await service.ask("t", { lease: "l", questions, timeoutMs: 5 });
    expect(told).toMatchObject({ kind: "ask", lease: "l", timeoutMs: 5 });
    const { questions: asked } = told as Extract<WorkAct, { kind: "ask" }>;
    expect(Object.entries(asked)).toEqual([
      ["__proto__", question(form)],
      ...Object.entries(questions).filter(([key]) => key !== "__proto__"),
    ]);
  });

  it("of progress is cut to a line", async () => {
    let told: WorkAct | undefined;
    const { service } = await setUp((id, act) => {
      told = act;
      return held(id, { kind: "claim", lease: LEASE });
    });
    const progress = { message: "x".repeat(2_000), total: 3 };
    await service.progress("t", { lease: "l", progress });
    expect(told).toEqual({ kind: "progress", lease: "l", progress: { message: "x".repeat(1_000), total: 3 } });
  });

  it("that the task refuses fails with what it said", async () => {
    const { service } = await setUp(() => ({ kind: "refused", code: "capability_missing", message: "It cannot." }));
    const ask = service.ask("t", { lease: "l", questions: { k: question(form) } });
    await expect(ask).rejects.toMatchObject({ code: "capability_missing", message: "It cannot." });
  });
});
