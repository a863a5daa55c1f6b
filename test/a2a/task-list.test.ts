import type { ListTasksRequest } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import type { A2aDeps } from "../../src/a2a/deps";
import { listTasks, LONGEST_PAGE } from "../../src/a2a/task-list";
import { createSealer } from "../../src/seal";
import { toldOf } from "../../src/service/snapshot";
import type { ReadOptions, TaskSearch } from "../../src/service/task-store";
import { someone } from "../support/memory";
import { life, resulted, settled, started } from "./life";

const request: ListTasksRequest = {
  tenant: "",
  contextId: "",
  status: 0,
  pageSize: undefined,
  pageToken: "",
  historyLength: undefined,
  statusTimestampAfter: undefined,
  includeArtifacts: undefined,
};

/** An owner with so many tasks, each with a result of so many characters. `atOnce`: the most that were being read. */
function listOf(count: number, length: number) {
  const text = "x".repeat(length);
  const { task } = life({}, started(), settled(1_200, resulted({ content: [{ type: "text", text }] })));
  const ids = Array.from({ length: count }, (_, n) => `t${n}`);
  const seen = { atOnce: 0 };
  let reading = 0;
  const tasks = {
    search: async (_: unknown, { limit, after }: TaskSearch) => {
      const from = after ? ids.indexOf(after.id) + 1 : 0;
      const rows = ids.slice(from, from + limit).map((id) => ({ id, statusAt: 1_200 }));
      return { rows, more: from + limit < ids.length, total: ids.length };
    },
    peek: async (_: unknown, id: string, options: ReadOptions) => {
      seen.atOnce = Math.max(seen.atOnce, ++reading);
      await Promise.resolve();
      reading -= 1;
      return { ...toldOf(task, options), id };
    },
  };
  const clock = () => 5_000;
  const deps = { tasks, clock, sealer: createSealer(async () => "secret", clock) } as unknown as A2aDeps;
  const list = (over: Partial<ListTasksRequest> = {}) => listTasks(deps, someone("a"), { ...request, ...over });
  return { ids, seen, list };
}

describe("a page of tasks", () => {
  it("holds as many as were asked for, without what nobody asked for", async () => {
    const { list, seen } = listOf(60, LONGEST_PAGE);
    const page = await list();
    expect([page.tasks.length, page.pageSize, page.totalSize, seen.atOnce]).toEqual([50, 50, 60, 6]);
    expect(page.tasks[0]?.artifacts).toEqual([]);
    expect((await list({ pageToken: page.nextPageToken })).tasks).toHaveLength(10);
  });

  it("ends early where its tasks are long, and the next goes on from there", async () => {
    const { ids, list, seen } = listOf(9, LONGEST_PAGE / 4);
    const pages: string[][] = [];
    for (let pageToken: string | null = ""; pageToken !== null;) {
      const page = await list({ pageToken, pageSize: 8, includeArtifacts: true });
      expect([page.pageSize, page.totalSize]).toEqual([8, 9]);
      pages.push(page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken || null;
    }
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 1]);
    expect(pages.flat()).toEqual(ids);
    expect(seen.atOnce).toBe(2);
  });
});
