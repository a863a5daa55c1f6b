import { describe, expect, it } from "vitest";
import { defineTool } from "../../src/tool/define-tool";
import { memoryService, someone } from "../support/memory";

const tool = defineTool({
  name: "t",
  description: "t",
  input: { type: "object" },
  task: "required",
  run: () => "done",
});

describe("a search of a caller's tasks", () => {
  it("finds its own; anonymous callers have none that could be found", async () => {
    const { start, rest, tasks, owner } = memoryService([tool]);
    const { id, contextId } = await start("t");
    await rest(id);
    await start("t", {}, { principal: { kind: "anonymous" } });
    expect(await tasks.search(owner, { limit: 9 })).toMatchObject({ rows: [{ id, contextId }], total: 1 });
    const nothing = { rows: [], more: false, total: 0 };
    expect(await tasks.search(someone("b"), { limit: 9 })).toEqual(nothing);
    expect(await tasks.search({ kind: "anonymous" }, { limit: 9 })).toEqual(nothing);
  });

  it("finds a task under a context of its own where its caller named none", async () => {
    const { start, tasks, owner } = memoryService([tool]);
    const made = [await start("t"), await start("t"), await start("t", {}, { contextId: "named" })];
    const contexts = made.map(({ contextId }) => contextId);
    expect([new Set(contexts).size, contexts[2]]).toEqual([3, "named"]);
    const found = await tasks.search(owner, { limit: 9, contextId: contexts[0] ?? "" });
    expect(found.rows.map(({ id }) => id)).toEqual([made[0]?.id]);
  });
});
