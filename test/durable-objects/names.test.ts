import { describe, expect, it } from "vitest";
import {
  DIRECTORY_SHARDS,
  directoryShard,
  ownerIndexName,
  RECORD_SHARDS,
  recordIndexName,
  recordName,
  recordShard,
  recordSpaceOf,
} from "../../durable-objects/names";

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

describe("the name of an index of records", () => {
  const spaces = [
    { namespace: "n", space: null },
    { namespace: "n", space: "o" },
    { namespace: "m", space: "o" },
    { namespace: "n", space: "null" },
    { namespace: 'n","o', space: null },
    { namespace: "record", space: "0" },
  ];

  it("is another for every space and shard, and says which it is", () => {
    const names = spaces.flatMap((space) => [
      recordIndexName(space),
      ...RECORD_SHARDS.map((shard) => recordIndexName(space, shard)),
    ]);
    expect(new Set(names).size).toBe(spaces.length * 17);
    for (const space of spaces) {
      expect([recordSpaceOf(recordIndexName(space)), recordSpaceOf(recordIndexName(space, 3))]).toEqual([space, space]);
    }
  });

  it("is never that of an index of tasks", () => {
    const ids = Array.from({ length: 100 }, (_, n) => `task-${n}`);
    const names = [
      ...["record", "n"].flatMap((namespace) => ids.map((id) => ownerIndexName(namespace, null, id))),
      ...["record", '["record","n","o"]', "n"].map((owner) => ownerIndexName("record", owner, "")),
      ...spaces.map(({ namespace, space }) => ownerIndexName(namespace, space, "")),
    ];
    expect(names.filter((name) => recordSpaceOf(name) !== null)).toEqual([]);
  });

  // Rows lie where this says: a change would lose them.
  it("stays what it is", () => {
    expect(recordIndexName({ namespace: "n", space: "o" })).toBe('["record","n","o"]');
    expect(recordIndexName({ namespace: "n", space: null }, 3)).toBe('["record","n",null,3]');
    expect(["a", "AAAA", "ö"].map(recordShard)).toEqual([12, 9, 9]);
  });
});

describe("the name of a record", () => {
  it("is another for any two ids and spaces", () => {
    const ids = ["t/1", "t_1", "t\\u002f1", '","', "\ud800", "\ud801", "\ufffd", "ä", "a\u0308"];
    const spaces = [
      { namespace: "n", space: null },
      { namespace: "n", space: "null" },
      { namespace: "n", space: "t" },
    ];
    const names = spaces.flatMap((space) => ids.map((id) => recordName(space, id)));
    expect(new Set(names.map((name) => name.toWellFormed())).size).toBe(ids.length * spaces.length);
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
