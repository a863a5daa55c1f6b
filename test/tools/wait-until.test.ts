import { describe, expect, it } from "vitest";
import { ToolError } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { waitUntil } from "../../src/tools/wait-until";
import { FakeSuspension, fakeTask, type FakeTask } from "../support/fake-task-context";

const DAY_MS = 86_400_000;
const parse = (args: Record<string, string | number>) =>
  createRegistry([waitUntil]).get("wait_until")?.parseArguments(args);
const wait = async (task: FakeTask, args: { time?: string; seconds?: number }): Promise<unknown> =>
  await waitUntil.run(args, task.context());

describe("wait_until", () => {
  it("sleeps until the time, and tells it when it woke", async () => {
    const task = fakeTask();
    const time = new Date(task.now + DAY_MS).toISOString();
    await expect(wait(task, { time })).rejects.toBeInstanceOf(FakeSuspension);
    expect(task.sleeps).toEqual([Date.parse(time)]);

    task.now += DAY_MS;
    expect(await wait(task, { time })).toEqual({ until: time, wokeAt: expect.any(String) });
  });

  it("counts seconds from the first run only", async () => {
    const task = fakeTask();
    const started = new Date(task.now - DAY_MS).toISOString();
    task.steps.set("until", JSON.stringify(started));
    expect(await wait(task, { seconds: 3600 })).toMatchObject({ until: started });
  });

  it("reads offsets", async () => {
    const task = fakeTask();
    const at = new Date(Math.ceil(task.now / 1000) * 1000 + DAY_MS);
    const local = `${new Date(at.getTime() + 2 * 3_600_000).toISOString().slice(0, 19)}+02:00`;
    await expect(wait(task, { time: local })).rejects.toBeInstanceOf(FakeSuspension);
    expect(task.sleeps).toEqual([at.getTime()]);
  });

  it("returns at once for a time that has passed", async () => {
    expect(await wait(fakeTask(), { time: "2001-01-01T00:00:00Z" })).toMatchObject({
      until: "2001-01-01T00:00:00.000Z",
    });
  });

  it("refuses to wait longer than 30 days, and stores nothing then", async () => {
    for (const args of [{ seconds: 31 * 86_400 }, { seconds: 1e300 }, { time: "9999-01-01T00:00:00Z" }]) {
      const task = fakeTask();
      await expect(wait(task, args)).rejects.toThrow(new ToolError("The wait must not be longer than 30 days."));
      expect(task.steps.size).toBe(0);
    }
  });

  it("wants exactly one of time and seconds", () => {
    expect(parse({})).toEqual({ ok: false, message: "arguments: Give exactly one of `time` and `seconds`." });
    expect(parse({ time: "2030-01-31T09:00:00Z", seconds: 1 })).toMatchObject({ ok: false });
    expect(parse({ seconds: 1 })).toEqual({ ok: true, value: { seconds: 1 } });
    expect(parse({ time: "2030-01-31T09:00:00+01:00" })).toMatchObject({ ok: true });
  });

  it("wants a time that says in which zone it is", () => {
    for (const time of ["tomorrow", "2030-01-31T09:00:00", "2030-02-30T09:00:00Z"]) {
      expect(parse({ time })).toMatchObject({
        ok: false,
        message: expect.stringMatching(/^arguments\.time must be an ISO 8601 date and time with `Z` or an offset/),
      });
    }
    expect(parse({ seconds: -1 })).toEqual({ ok: false, message: "arguments.seconds must be at least 0." });
  });
});
