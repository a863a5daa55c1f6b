import { describe, expect, it } from "vitest";
import { MemorySessions } from "../../src/service/memory-sessions";
import type { Session } from "../../src/service/sessions";
import type { StartRequest } from "../../src/service/task-requests";
import { TaskService } from "../../src/service/task-service";
import type { TaskStore } from "../../src/service/task-store";
import { defineTool } from "../../src/tool/define-tool";
import type { RegisteredTool } from "../../src/tool/registry";
import { everything, limits, memoryService, someone } from "../support/memory";

const HOUR = 3_600_000;
const tool = (name: string) =>
  defineTool({ name, description: name, input: { type: "object" }, task: "optional", run: () => name });

/** Anonymous calls, each with a key, in sessions. `broken` makes the store fail where it would create. */
function setUp() {
  const { registry, store, clock } = memoryService([tool("one"), tool("two")]);
  const sessions = new MemorySessions(clock.now);
  const broken = { now: false };
  const fragile: TaskStore = Object.assign(Object.create(store) as TaskStore, {
    mint: () => store.mint(),
    read: store.read.bind(store),
    admit: store.admit.bind(store),
    create: async (...args: Parameters<TaskStore["create"]>) => {
      if (broken.now) throw new Error("The store is gone.");
      return store.create(...args);
    },
  });
  const tasks = new TaskService({ store: fragile, sessions, limits, clock: clock.now });
  const session = (key: string): Session => ({ key, expiresAt: clock.now() + 48 * HOUR });
  const start = (key: string, of: Session | null, more: Partial<StartRequest> = {}, service = tasks) =>
    service.start({
      principal: { kind: "anonymous" },
      tool: registry.get("one") as RegisteredTool,
      arguments: { a: 1, b: 2 },
      client: { ...everything, ...(of ? { session: of } : {}) },
      origin: "test",
      idempotencyKey: key,
      ...more,
    });
  return { start, session, store, registry, broken, ...clock };
}

describe("an anonymous caller's idempotency key", () => {
  it("finds the task of the same call in the same session", async () => {
    const { start, session } = setUp();
    const first = await start("k", session("s"));
    const again = await start("k", session("s"), { arguments: { b: 2, a: 1 } });
    expect([first.existing, again.existing]).toEqual([false, true]);
    expect(again.task.id).toBe(first.task.id);
  });

  it("makes one task of parallel calls", async () => {
    const { start, session } = setUp();
    const started = await Promise.all(Array.from({ length: 20 }, () => start("k", session("s"))));
    expect(new Set(started.map(({ task }) => task.id)).size).toBe(1);
    expect(started.filter(({ existing }) => !existing)).toHaveLength(1);
  });

  it("refuses other arguments, and belongs to a tool and a session", async () => {
    const { start, session, registry } = setUp();
    const { task } = await start("k", session("s"));
    await expect(start("k", session("s"), { arguments: {} })).rejects.toMatchObject({ code: "conflict" });
    const elsewhere = [
      await start("k", session("other"), { arguments: {} }),
      await start("k", session("s"), { tool: registry.get("two") as RegisteredTool, arguments: {} }),
    ];
    expect(elsewhere.map(({ existing }) => existing)).toEqual([false, false]);
    expect(new Set([task.id, ...elsewhere.map((other) => other.task.id)]).size).toBe(3);
  });

  it("is ignored outside a session, and where no session keeps any", async () => {
    const { start, session, store, now } = setUp();
    const forgetful = new TaskService({ store, limits, clock: now });
    const started = [
      await start("k", null),
      await start("k", null, { arguments: {} }),
      await start("k", session("s"), {}, forgetful),
      await start("k", session("s"), { arguments: {} }, forgetful),
    ];
    expect(new Set(started.map(({ task }) => task.id)).size).toBe(4);
  });

  it("is refused when the session has used 100", async () => {
    const { start, session } = setUp();
    for (let n = 0; n < 100; n += 1) await start(`k${n}`, session("s"));
    await expect(start("one more", session("s"))).rejects.toMatchObject({
      code: "limit_reached",
      message: expect.stringContaining("100") as string,
      data: { limit: "SESSION_KEYS", value: 100 },
    });
    expect((await start("k5", session("s"))).existing).toBe(true);
    expect((await start("one more", session("other"))).existing).toBe(false);
  });

  it("is taken up by the repeated call when the first was cut short", async () => {
    const { start, session, broken } = setUp();
    broken.now = true;
    await expect(start("k", session("s"))).rejects.toThrow("The store is gone.");
    broken.now = false;
    const repeated = await Promise.all([start("k", session("s")), start("k", session("s"))]);
    expect(repeated[0]?.task.id).toBe(repeated[1]?.task.id);
    expect(repeated.map(({ existing }) => existing).sort()).toEqual([false, true]);
  });

  it("makes a new task when the first has expired", async () => {
    const { start, session, advance, now } = setUp();
    const of = session("s");
    await start("k", of);
    advance(25 * HOUR);
    const again = await start("k", of);
    expect(again.existing).toBe(false);
    expect(again.task.createdAt).toBeGreaterThan(now() - HOUR);
  });
});

it("an identified caller's idempotency key holds in every session of theirs", async () => {
  const { start, session } = setUp();
  const principal = someone("a");
  const first = await start("k", session("s"), { principal });
  const again = await start("k", session("other"), { principal });
  expect(again).toMatchObject({ existing: true, task: { id: first.task.id } });
  await expect(start("k", null, { principal, arguments: {} })).rejects.toMatchObject({ code: "conflict" });
});
