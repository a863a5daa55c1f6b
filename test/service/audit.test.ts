import { describe, expect, it, vi } from "vitest";
import { AuditedTaskService } from "../../src/service/audited-task-service";
import type { AuditLine } from "../../src/service/audit";
import { defineTool, RefusalError } from "../../src/tool/define-tool";
import { everything, limits, memoryService, someone } from "../support/memory";

const SECRET = "hunter2";
const asks = defineTool({
  name: "asks",
  description: "Asks.",
  input: { type: "object" },
  task: "optional",
  run: async (_, task) =>
    JSON.stringify(await task.ask({ k: { kind: "form", message: `Is it ${SECRET}?`, schema: { type: "object" } } })),
});

function setUp(over: Partial<typeof limits> = {}) {
  const kit = memoryService([asks], over);
  const lines: AuditLine[] = [];
  const tasks = new AuditedTaskService(
    { store: kit.store, limits: { ...limits, ...over }, clock: kit.clock.now },
    (line) => lines.push(line),
  );
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const start = () =>
    tasks.start({
      principal: kit.owner,
      tool: kit.registry.get("asks")!,
      arguments: { secret: SECRET },
      client: { ...everything, traceparent },
      origin: "test",
    });
  return { ...kit, told: kit.lines, tasks, lines, start, traceparent };
}

describe("the audit", () => {
  it("has one line for each thing that was done, with principal, task and trace, and never content", async () => {
    const { tasks, lines, start, owner, rest, traceparent } = setUp();
    const { task } = await start();
    await rest(task.id);
    await tasks.answer(owner, task.id, { k: `{"action":"accept","content":{"v":"${SECRET}"}}` });
    await vi.waitUntil(async () => (await rest(task.id)).stage.phase === "settled");
    await tasks.get(owner, task.id);
    const second = await start();
    await tasks.cancel(owner, second.task.id);
    await tasks.cancel(owner, second.task.id);
    const facts = { principal: '["test","a"]', tool: "asks", traceparent };
    expect(lines).toEqual([
      { audit: "create", task: task.id, ...facts },
      { audit: "answer", task: task.id, ...facts },
      { audit: "read_result", task: task.id, ...facts },
      { audit: "create", task: second.task.id, ...facts },
      { audit: "cancel", task: second.task.id, ...facts },
    ]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  });

  it("knows a result that was read over a subscription, and no reading where only the phase was told", async () => {
    const { tasks, lines, start, owner, rest } = setUp();
    const { task } = await start();
    await rest(task.id);
    await tasks.cancel(owner, task.id);
    await tasks.get(owner, task.id, { body: false });
    await tasks.settle(owner, task.id, { signal: AbortSignal.timeout(10_000), deliver: 1, restAt: "settled" });
    const before = lines.length;
    for await (const { kind } of tasks.follow(owner, [task.id], AbortSignal.timeout(10_000))) expect(kind).toBe("task");
    expect(lines.filter(({ audit }) => audit === "read_result")).toHaveLength(1);
    expect(lines).toHaveLength(before + 1);
  });

  it("says how a task settled, where it ran", async () => {
    const { tasks, start, owner, rest, told } = setUp();
    const { task } = await start();
    await rest(task.id);
    await tasks.cancel(owner, task.id);
    expect(told.filter(({ data }) => "audit" in data).map(({ data }) => data)).toEqual([
      expect.objectContaining({ audit: "settle", task: task.id, outcome: "cancelled" }),
    ]);
    expect(JSON.stringify(told)).not.toContain(SECRET);
  });

  it("tells a refusal of the tool from a failure", async () => {
    const { start, rest, lines } = memoryService([
      defineTool({
        name: "refuses",
        description: "Refuses.",
        input: { type: "object" },
        task: "optional",
        run: () => {
          throw new RefusalError(`Not with ${SECRET}.`);
        },
      }),
    ]);
    const { id } = await start("refuses");
    await rest(id);
    const told = lines.filter(({ data }) => "audit" in data).map(({ data }) => data);
    expect(told).toEqual([expect.objectContaining({ audit: "settle", task: id, outcome: "rejected" })]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  });

  it("has a line for every refusal, whatever was sent in place of an id", async () => {
    const { tasks, lines, start } = setUp({ maxTasksPerOwner: 1 });
    const { task } = await start();
    await expect(start()).rejects.toMatchObject({ code: "limit_reached" });
    await expect(tasks.get(someone("b"), task.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(tasks.cancel(someone("b"), 'x\n{"forged":1}')).rejects.toMatchObject({ code: "not_found" });
    expect(lines.slice(1)).toEqual([
      { audit: "refuse", principal: '["test","a"]', code: "limit_reached", tool: "asks" },
      { audit: "refuse", principal: '["test","b"]', code: "not_found", task: task.id },
      { audit: "refuse", principal: '["test","b"]', code: "not_found", task: "malformed" },
    ]);
  });
});
