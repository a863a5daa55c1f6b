import { describe, expect, it } from "vitest";
import { pushDue } from "../../src/task/due";
import { MAX_PUSH_TARGETS } from "../../src/task/push";
import type { PushTarget, PushWish, Task } from "../../src/task/task";
import { createTask, transition, type TaskEvent } from "../../src/task/transition";
import { draft } from "../support/task";

const wish = (id: string, over: Partial<PushWish> = {}): PushWish => ({
  id,
  url: "https://a.example/hook",
  token: null,
  authentication: null,
  wire: "a2a/1.0",
  ...over,
});
const set = (target: PushWish): TaskEvent => ({ type: "push_set", at: 2_000, target });
const pushed = (seq: number, id = "p"): TaskEvent => ({ type: "pushed", at: 2_000, id, seq });
const failed = (seq: number, retryAt: number | null, reason = "No answer."): TaskEvent => ({
  type: "push_failed",
  at: 2_000,
  id: "p",
  seq,
  retryAt,
  reason,
});
const then = (task: Task, ...events: readonly TaskEvent[]): Task =>
  events.reduce((now, happened) => transition(now, happened).task, task);

const fresh: PushTarget = { ...wish("p"), cursor: 0, failures: 0, retryAt: null, dead: [] };
/** Someone has heard nothing yet of a task of version 3. */
const told = (): Task =>
  then(
    createTask(draft({ push: [fresh] })).task,
    { type: "started", at: 1_100 },
    { type: "progressed", at: 1_200, progress: { progress: 1 } },
  );
const only = ({ push }: Task): PushTarget => {
  expect(push).toHaveLength(1);
  return push[0] as PushTarget;
};

describe("a push target", () => {
  it("hears of the task from its creation on, or from when it was set", () => {
    expect(only(createTask(draft({ push: [fresh] })).task).cursor).toBe(0);
    const task = then(createTask(draft()).task, { type: "started", at: 1_100 });
    expect(only(then(task, set(wish("p"))))).toEqual({ ...fresh, cursor: 2 });
  });

  it("in place of another of its id goes on where that one was, and is tried at once", () => {
    const before = then(told(), failed(1, null), failed(2, 60_000));
    const other = wish("p", {
      url: "https://b.example/",
      token: "t",
      authentication: { scheme: "B", credentials: "c" },
    });
    const after = only(then(before, set(other)));
    expect(after).toEqual({ ...other, cursor: 1, failures: 0, retryAt: null, dead: only(before).dead });
    expect(only(then(before, set(wish("p"))))).toMatchObject({ failures: 0, retryAt: null });
  });

  it("that is set again as it is changes nothing", () => {
    const target = wish("p", { token: "t", authentication: { scheme: "Bearer", credentials: "c" } });
    const task = then(told(), set(target));
    expect(then(task, set(structuredClone(target)))).toBe(task);
    for (const over of [
      { url: "https://b.example/" },
      { token: null },
      { wire: "a2a/0.3" },
      { authentication: null },
      { authentication: { scheme: "Basic", credentials: "c" } },
      { authentication: { scheme: "Bearer", credentials: null } },
    ]) {
      const changed = only(then(task, set({ ...target, ...over })));
      expect(changed).toMatchObject({ ...target, ...over, cursor: 0 });
    }
  });

  it("is one of ten at most; one that is there can still be replaced, or go", () => {
    const full = then(createTask(draft()).task, ...Array.from({ length: 12 }, (_, n) => set(wish(`p${n}`))));
    expect(full.push.map(({ id }) => id)).toEqual(Array.from({ length: MAX_PUSH_TARGETS }, (_, n) => `p${n}`));
    expect(then(full, set(wish("p10")))).toBe(full);
    expect(then(full, set(wish("p3", { url: "https://b.example/" }))).push[3]).toMatchObject({
      id: "p3",
      url: "https://b.example/",
    });
    const fewer = then(full, { type: "push_removed", at: 2_000, id: "p3" });
    expect(then(fewer, set(wish("p10"))).push.at(-1)?.id).toBe("p10");
    expect(then(fewer, { type: "push_removed", at: 2_000, id: "p3" })).toBe(fewer);
  });

  it("has heard of what arrived, once and never of what has not happened", () => {
    const task = then(told(), failed(1, 60_000), pushed(2));
    expect(only(task)).toEqual({ ...fresh, cursor: 2 });
    expect(then(task, pushed(2))).toBe(task);
    expect(then(task, pushed(1))).toBe(task);
    expect(then(task, pushed(3, "nobody"))).toBe(task);
    expect(only(then(task, pushed(99))).cursor).toBe(3);
    expect(then(task, pushed(3), pushed(99))).toEqual(then(task, pushed(3)));
  });

  it("that could not be reached is tried again; what is given up is remembered, and what comes next goes on", () => {
    const once = then(told(), failed(1, 60_000));
    expect(only(once)).toMatchObject({ cursor: 0, failures: 1, retryAt: 60_000 });
    expect(then(once, failed(1, 60_000))).toBe(once);
    expect(only(then(once, failed(1, 90_000)))).toMatchObject({ failures: 2, retryAt: 90_000 });
    const given = then(once, failed(2, null, "x".repeat(1_000)));
    expect(only(given)).toMatchObject({ cursor: 2, failures: 0, retryAt: null, dead: [{ seq: 2, at: 2_000 }] });
    expect(only(given).dead[0]?.reason).toHaveLength(300);
    expect(then(given, failed(2, null), failed(1, 60_000))).toBe(given);
  });

  it("remembers the newest twenty that were given up", () => {
    let task = told();
    for (let n = 0; n < 30; n += 1) {
      task = then(task, { type: "progressed", at: 2_000, progress: { progress: n + 2 } });
      task = then(task, failed(task.version, null));
    }
    expect(only(task).dead.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, n) => n + 14));
  });

  it("is told after the end too, which changes nothing else of the task", () => {
    const settled = then(told(), { type: "cancelled", at: 1_300, minTtlMs: 0 });
    for (const event of [
      set(wish("late")),
      pushed(4),
      failed(4, 60_000),
      failed(4, null),
      { type: "push_removed", at: 2_000, id: "p" } as const,
    ]) {
      const { task, entry } = transition(settled, event);
      expect(task).not.toBe(settled);
      expect(entry).toBeNull();
      expect({ ...task, push: settled.push }).toEqual(settled);
    }
    expect(then(settled, set(wish("late"))).push[1]?.cursor).toBe(settled.version);
  });
});

describe("news", () => {
  it("are due while a target has not heard all: at once, or when it is to be tried again", () => {
    expect(pushDue(createTask(draft()).task, 5_000)).toBeNull();
    expect(pushDue(told(), 5_000)).toBe(1_200);
    expect(pushDue(then(told(), failed(1, 60_000)), 5_000)).toBe(60_000);
    expect(pushDue(then(told(), failed(1, 60_000), set(wish("q"))), 5_000)).toBe(60_000);
    expect(pushDue(then(told(), pushed(3)), 5_000)).toBeNull();
    const two = then(
      told(),
      set(wish("q")),
      { type: "progressed", at: 3_000, progress: { progress: 2 } },
      failed(1, 60_000),
    );
    expect(pushDue(two, 5_000)).toBe(3_000);
  });

  it("wait no longer because a clock was set back", () => {
    expect(pushDue(told(), 700)).toBe(700);
  });
});
