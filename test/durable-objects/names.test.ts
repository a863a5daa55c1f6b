import { describe, expect, it } from "vitest";
import { DIRECTORY_SHARDS, directoryShard, ownerIndexName } from "../../durable-objects/names";

describe("the name of an owner's index", () => {
  it("is the same for all of an owner's tasks, and another for every other owner and namespace", () => {
    expect(ownerIndexName("n", "o", "a")).toBe(ownerIndexName("n", "o", "b"));
    const names = [
      ownerIndexName("n", "o", ""),
      ownerIndexName("m", "o", ""),
      ownerIndexName("n", "p", ""),
      ownerIndexName('n","o', "o", ""),
      ownerIndexName("n", 'o"]', ""),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  it("spreads anonymous tasks over sixteen, none of which any owner's name can be", () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `task-${n}`);
    const names = new Set(ids.map((id) => ownerIndexName("n", null, id)));
    expect(names.size).toBe(16);
    expect(
      [...names].filter(
        (name) => ids.some((id) => ownerIndexName("n", id, "") === name) || name === ownerIndexName("n", "null", ""),
      ),
    ).toEqual([]);
    expect(ownerIndexName("n", null, "task-1")).toBe(ownerIndexName("n", null, "task-1"));
  });
});

describe("directoryShard", () => {
  // Rows lie where this says: a change would lose them.
  it("stays what it is", () => {
    expect(['["tasks","[\\"tokens\\",\\"me\\"]"]', '["tasks",null,3]', '["n","ö"]'].map(directoryShard)).toEqual([
      5, 3, 5,
    ]);
    expect(ownerIndexName("tasks", null, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")).toBe('["tasks",null,10]');
  });

  it("uses every shard about equally", () => {
    const counts = new Map<number, number>();
    for (let n = 0; n < 8_000; n += 1) {
      const shard = directoryShard(ownerIndexName("tasks", `owner ${n}`, ""));
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(counts.size).toBe(DIRECTORY_SHARDS);
    expect(Math.min(...counts.values())).toBeGreaterThan(800);
  });
});
