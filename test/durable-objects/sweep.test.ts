import { describe, expect, it } from "vitest";
import type { DirectoryEntry } from "../../durable-objects/rpc";
import { examineRows, sweep, type SweepParts } from "../../durable-objects/sweep";
import type { Examined } from "../../src/service/task-index";

const NOW = 1_000_000;
const HOUR = 3_600_000;

/** Owners with due tasks, spread over the shards; a broken one's index throws, a broken task's object does. */
class World {
  readonly directory = new Map<string, number>();
  readonly tasks = new Map<string, string[]>();
  readonly settled: [string, number | null][] = [];
  calls = 0;
  start = 0;
  brokenOwners = new Set<string>();
  brokenTasks = new Set<string>();
  brokenShards = new Set<number>();

  constructor(owners: Readonly<Record<string, readonly string[]>>) {
    for (const [name, ids] of Object.entries(owners)) {
      this.directory.set(name, NOW - 1_000 + this.directory.size);
      this.tasks.set(name, [...ids]);
    }
  }

  parts(): SweepParts {
    const shards = 4;
    return {
      shards,
      clock: () => NOW,
      random: () => this.start,
      directory: (shard) => ({
        due: async (now, limit, after) => {
          this.#count(this.brokenShards.has(shard));
          const due = [...this.directory].filter(([name, at]) => at <= now && shardOf(name, shards) === shard);
          const entries = due
            .map(([name, at]): DirectoryEntry => ({ name, due: at, mark: "m" }))
            .sort((a, b) => a.due - b.due);
          return entries.filter((entry) => !after || entry.due > after.due).slice(0, limit);
        },
        settle: async ({ name }, next) => {
          this.#count();
          this.settled.push([name, next]);
          if (next === null) this.directory.delete(name);
          else this.directory.set(name, next);
        },
      }),
      index: (name) => ({
        due: async (_, limit) => {
          this.#count(this.brokenOwners.has(name));
          return (this.tasks.get(name) ?? []).slice(0, limit).map((id) => ({ id, confirmed: true }));
        },
        swept: async (examined, now, unanswered = []) => {
          this.#count();
          const gone = examined.filter(({ found }) => !found).map(({ id }) => id);
          const left = (this.tasks.get(name) ?? []).filter((id) => !gone.includes(id));
          // What could not be asked is left for later, out of the way.
          const due = left.filter((id) => !unanswered.includes(id));
          this.tasks.set(name, due);
          return {
            removed: gone.length,
            dropped: 0,
            nextDue: due.length > 0 ? now : unanswered.length > 0 ? now + HOUR : null,
          };
        },
      }),
      examine: async (_, id): Promise<Examined> => {
        this.#count(this.brokenTasks.has(id));
        return { id, found: false };
      },
    };
  }

  left(): number {
    return [...this.tasks.values()].flat().length;
  }

  #count(broken = false): void {
    this.calls += 1;
    if (broken) throw new Error("broken");
  }
}

const shardOf = (name: string, shards: number): number => name.charCodeAt(0) % shards;
const ids = (count: number, prefix = "t") => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

describe("a sweep", () => {
  it("visits whoever is due, removes what is due, and tells the directory", async () => {
    const world = new World({ a: ids(3), b: ids(40), c: [] });
    const report = await sweep(world.parts(), 1_000);
    expect(report).toMatchObject({ owners: 3, examined: 43, removed: 43, failures: 0, finished: true });
    expect(report.calls).toBe(world.calls);
    expect(new Map(world.settled)).toEqual(
      new Map([
        ["a", null],
        ["b", null],
        ["c", null],
      ]),
    );
  });

  it.each([0, 1, 3, 9, 12, 13, 50, 51, 77])("never makes more calls than its budget of %d", async (budget) => {
    const world = new World({ a: ids(30), b: ids(70), c: ids(1), d: ids(2) });
    const report = await sweep(world.parts(), budget);
    expect(world.calls).toBeLessThanOrEqual(budget);
    expect(report).toMatchObject({ calls: world.calls, finished: false });
  });

  it("goes on where the last run stopped, until nothing is left", async () => {
    const world = new World({ a: ids(30), b: ids(70), c: ids(1), d: ids(2), e: ids(5) });
    let removed = 0;
    for (let runs = 1; ; runs += 1) {
      const report = await sweep(world.parts(), 20);
      removed += report.removed;
      if (report.finished) break;
      expect(runs).toBeLessThan(30);
    }
    expect([removed, world.left(), world.directory.size]).toEqual([108, 0, 0]);
  });

  it("says it finished only when nothing due was left out", async () => {
    const world = new World({ a: ids(4) });
    const { calls } = await sweep(world.parts(), 1_000);
    for (let budget = 0; budget < calls; budget += 1) {
      const again = new World({ a: ids(4) });
      const report = await sweep(again.parts(), budget);
      expect(report.finished && again.left() > 0).toBe(false);
    }
  });

  it("postpones an owner that fails and serves the others", async () => {
    const world = new World({ a: ids(2), e: ids(2), b: ids(2) });
    world.brokenOwners.add("a");
    expect(await sweep(world.parts(), 1_000)).toMatchObject({ owners: 3, removed: 4, failures: 1, finished: true });
    expect(world.directory.get("a")).toBeGreaterThan(NOW);
  });

  it("is not held up by tasks that fail", async () => {
    const world = new World({ a: [...ids(40, "bad"), ...ids(3)] });
    for (const id of ids(40, "bad")) world.brokenTasks.add(id);
    expect(await sweep(world.parts(), 1_000)).toMatchObject({ removed: 3, failures: 40, finished: true });
    expect(world.directory.get("a")).toBe(NOW + HOUR);
  });

  it("serves the other shards when one cannot be reached", async () => {
    const world = new World({ a: ids(1), b: ids(1), c: ids(1), d: ids(1) });
    world.brokenShards.add(shardOf("b", 4));
    expect(await sweep(world.parts(), 1_000)).toMatchObject({ removed: 3, failures: 1 });
  });

  it("begins at another shard each time, so that none is always last", async () => {
    const first = async (start: number) => {
      const world = new World({ a: ids(1), b: ids(1), c: ids(1), d: ids(1) });
      world.start = start;
      await sweep(world.parts(), 5);
      return world.settled[0]?.[0];
    };
    expect(new Set(await Promise.all([0, 0.25, 0.5, 0.75].map(first))).size).toBe(4);
  });

  it("visits each owner once a run, though it stays due", async () => {
    const world = new World(Object.fromEntries(ids(120, "a").map((name) => [name, []])));
    const parts = world.parts();
    const visited: string[] = [];
    const report = await sweep(
      {
        ...parts,
        index: (name) => ({
          ...parts.index(name),
          swept: async () => ({ removed: 0, dropped: 0, nextDue: visited.push(name) && world.directory.get(name)! }),
        }),
      },
      10_000,
    );
    expect(visited).toHaveLength(120);
    expect(report).toMatchObject({ owners: 120, finished: true });
  });
});

describe("examining rows", () => {
  it("says of what is gone which row that was, so that one made since with its id stays", async () => {
    const rows = [
      { id: "a", confirmed: true, mark: "first life" },
      { id: "b", confirmed: true },
      { id: "c", confirmed: true, mark: "m" },
    ];
    const answer = (id: string) =>
      id === "c" ? Promise.reject(new Error("broken")) : Promise.resolve({ id, found: false as const });
    expect(await examineRows(rows, answer)).toEqual({
      examined: [
        { id: "a", found: false, mark: "first life" },
        { id: "b", found: false, mark: null },
      ],
      unanswered: ["c"],
    });
  });
});
