import { describe, expect, it } from "vitest";
import type { TaskListRow, TaskSearch, TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { Standing } from "../../src/task/standing";
import type { RunsIn, TaskDraft } from "../../src/task/task";
import { everything } from "../support/memory";
import { missing } from "./conversation-contract";
import { HOUR, MINUTE, setUpStore, until } from "./set-up";
import type { StoreParts } from "./stage";

/** Nobody takes it, so that it stays as it was made. */
const NOWHERE: RunsIn = { in: "queue", queue: "q", maxAttempts: null, output: null };

/** What a caller finds among its tasks. */
export function describeSearch(makeStore: (parts: StoreParts) => TaskStore | Promise<TaskStore>): void {
  describe("search", () => {
    it("is newest change of phase first, then by id, and has a task from the moment it is created", async () => {
      const { lie, move, search, ids, clock } = await setUp();
      const made = [];
      for (const createdAt of [3_000, 1_000, 2_000, 1_000, 1_000, 2_000]) made.push(await lie({ createdAt }));
      const order = newestFirst(made);
      expect(await search()).toMatchObject({ more: false, total: 6 });
      expect(await ids()).toEqual(order);
      const [first, ...rest] = order.toReversed() as [string, ...string[]];
      await move(first);
      await until(async () => (await ids())[0] === first);
      expect(await ids()).toEqual([first, ...rest.toReversed()]);
      const [moved] = (await search()).rows;
      expect(moved).toMatchObject({ tool: "tool", createdAt: 1_000, phase: "settled", outcome: "cancelled" });
      expect(moved?.statusAt).toBeGreaterThan(clock() - MINUTE);
    });

    it("tells all standings apart", async () => {
      const { store, create, lie, move, ids, clock } = await setUp();
      const made = {
        submitted: await lie(),
        working: await create("hang"),
        input_required: await create("ask"),
        auth_required: await create("sign", { client: everything }),
        done: await create("echo"),
        failed: await create("refuse"),
        cancelled: await lie(),
        rejected: await create("arguments", { missing: missing(clock() + HOUR) }),
      } satisfies Record<Standing, TaskSnapshot>;
      await move(made.cancelled.id);
      const decline = { "tool-arguments": JSON.stringify({ action: "decline" }) };
      await store.tell({ id: made.rejected.id, owner: "o" }, { kind: "answer", answers: decline });
      for (const [standing, { id }] of Object.entries(made) as [Standing, TaskSnapshot][]) {
        await until(async () => String(await ids({ standing })) === id);
      }
    });

    it("finds a task that begins with a question where it stands", async () => {
      const { create, ids, clock } = await setUp();
      const { id } = await create("arguments", { missing: missing(clock() + HOUR) });
      await until(async () => (await ids({ standing: "input_required" })).includes(id));
      expect(await ids({ standing: "submitted" })).toEqual([]);
    });

    it("takes filters, alone and together, and counts what fits all of them", async () => {
      const { lie, move, search, clock } = await setUp();
      const [a, b] = [{ contextId: "a" }, { contextId: "b" }];
      const made = await Promise.all(
        [a, a, a, b, b].map((context, n) => lie({ ...context, createdAt: 1_000 * (n + 1) })),
      );
      const [a1, a2, a3, b4, b5] = made.map(({ id }) => id) as [string, string, string, string, string];
      const before = clock();
      await move(a2);
      await until(async () => (await search({ standing: "cancelled" })).total === 1);
      const found = async (by: Partial<TaskSearch>) => {
        const { rows, more, total } = await search(by);
        expect([more, total]).toEqual([false, rows.length]);
        return rows.map(({ id }) => id);
      };
      expect(await found(a)).toEqual([a2, a3, a1]);
      expect(await found({ standing: "submitted" })).toEqual([b5, b4, a3, a1]);
      expect(await found({ ...a, standing: "submitted" })).toEqual([a3, a1]);
      expect(await found({ ...b, standing: "cancelled" })).toEqual([]);
      expect(await found({ since: 3_000 })).toEqual([a2, b5, b4, a3]);
      expect(await found({ since: 3_001 })).toEqual([a2, b5, b4]);
      expect(await found({ since: before })).toEqual([a2]);
      expect(await found({ ...a, since: 3_000 })).toEqual([a2, a3]);
      expect(await found({ standing: "submitted", since: 5_000 })).toEqual([b5]);
      expect(await found({ ...a, standing: "submitted", since: 1_001 })).toEqual([a3]);
      expect(await found({ since: clock() + HOUR })).toEqual([]);
      expect(await search({ ...a, limit: 2 })).toMatchObject({ rows: [{ id: a2 }, { id: a3 }], more: true, total: 3 });
      const after = { statusAt: 3_000, id: a3 };
      expect(await search({ ...a, limit: 2, after })).toMatchObject({ rows: [{ id: a1 }], more: false, total: 3 });
      expect(await search({ standing: "submitted", limit: 1, after })).toMatchObject({ rows: [{ id: a1 }], total: 4 });
    });

    it("knows a context by its very name", async () => {
      const { lie, search } = await setUp();
      const odd = [
        "",
        " ",
        "null",
        '"',
        '"c"',
        "c",
        "C",
        "%",
        "*",
        "é",
        "e\u0301",
        "💥",
        "\ud800",
        "\ud801",
        "\0",
        "a\0",
      ];
      const made = await Promise.all(odd.map((contextId) => lie({ contextId })));
      await lie({ contextId: null });
      for (const [n, contextId] of odd.entries()) {
        const { rows, total } = await search({ contextId });
        expect([total, rows.map((row) => [row.id, row.contextId])]).toEqual([1, [[made[n]?.id, contextId]]]);
      }
      expect((await search()).total).toBe(odd.length + 1);
    });

    it("is read in pages that repeat nothing and miss only what moves on meanwhile", async () => {
      const { lie, move, search, ids, clock } = await setUp();
      const start = clock();
      const made: TaskSnapshot[] = [];
      // Groups share one instant, so that the id decides.
      for (let n = 0; n < 23; n += 1) made.push(await lie({ createdAt: start - Math.floor(n / 4) }));
      const order = newestFirst(made);
      const [seen, unseen] = [order[3], order[17]] as [string, string];
      const read: TaskListRow[] = [];
      let page = await search({ limit: 5 });
      for (let pages = 1; pages < 9; pages += 1) {
        expect(page.total).toBe(23);
        read.push(...page.rows);
        if (!page.more) break;
        if (read.length === 10) {
          for (const id of [seen, unseen]) await move(id);
          await until(async () => (await ids({ standing: "cancelled" })).length === 2);
        }
        const { statusAt, id } = read.at(-1) as TaskListRow;
        page = await search({ limit: 5, after: { statusAt, id } });
      }
      expect(read.map(({ id }) => id)).toEqual(order.filter((id) => id !== unseen));
      expect((await ids()).slice(0, 2).toSorted()).toEqual([seen, unseen].toSorted());
      expect(new Set(await ids())).toEqual(new Set(order));
    });

    it("is one owner's and one namespace's, and empty for whoever has nothing", async () => {
      const { lie, search, ids } = await setUp();
      const nothing = { rows: [], more: false, total: 0 };
      expect(await search()).toEqual(nothing);
      const mine = await lie({ contextId: "c" });
      const others = [await lie({ owner: "other", contextId: "c" }), await lie({ namespace: "m", contextId: "c" })];
      await lie({ owner: null, contextId: "c" });
      for (const by of [{}, { contextId: "c" }, { standing: "submitted" }, { contextId: "c", standing: "submitted" }]) {
        const query = by as Partial<TaskSearch>;
        expect(await ids(query)).toEqual([mine.id]);
        expect(await ids({ ...query, owner: "other" })).toEqual([others[0]?.id]);
        expect(await ids({ ...query, namespace: "m" })).toEqual([others[1]?.id]);
        expect(await search({ ...query, owner: "nobody" })).toEqual(nothing);
        expect(await search({ ...query, owner: "O" })).toEqual(nothing);
      }
    });

    it("has nothing that has expired, collected or not, and does not count it", async () => {
      const { store, lie, move, search, advance } = await setUp({ retentionMs: HOUR, minTtlMs: 1_000 });
      const kept = await lie({ ttlMs: null });
      for (const ttlMs of [MINUTE, MINUTE, null]) {
        const { id } = await lie({ ttlMs, contextId: "c" });
        if (ttlMs === null) await move(id);
      }
      await until(async () => (await search({ standing: "cancelled" })).total === 1);
      const left = async (by: Partial<TaskSearch> = {}) => {
        const { rows, total } = await search(by);
        return [total, ...rows.map(({ id }) => id)];
      };
      advance(HOUR);
      expect(await left()).toEqual([1, kept.id]);
      expect(await left({ standing: "submitted" })).toEqual([1, kept.id]);
      expect([await left({ contextId: "c" }), await left({ standing: "cancelled" })]).toEqual([[0], [0]]);
      await store.sweep(1_000);
      expect(await left()).toEqual([1, kept.id]);
    });
  });

  async function setUp(over: Parameters<typeof setUpStore>[1] = {}) {
    const stage = await setUpStore(makeStore, over);
    const { store } = stage;
    const search = (by: Partial<TaskSearch> = {}) => store.search({ namespace: "n", owner: "o", limit: 100, ...by });
    return {
      ...stage,
      /** A task that nothing happens to. */
      lie: (facts: Partial<TaskDraft> = {}) => stage.create("tool", { runs: NOWHERE, ttlMs: null, ...facts }),
      move: (id: string) => store.tell({ id, owner: "o" }, { kind: "cancel" }),
      search,
      ids: async (by?: Partial<TaskSearch>) => (await search(by)).rows.map(({ id }) => id),
    };
  }
}

const newestFirst = (tasks: readonly TaskSnapshot[]): readonly string[] =>
  tasks.toSorted((a, b) => b.statusAt - a.statusAt || (a.id < b.id ? 1 : -1)).map(({ id }) => id);
