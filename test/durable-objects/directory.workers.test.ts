import { beforeEach, describe, expect, it } from "vitest";
import type { DirectoryCalls, DirectoryEntry } from "../../durable-objects/rpc";
import { emptyDeployment, NOTHING, objects, storedIn } from "../stores/objects";

const stub = () => objects.DIRECTORY.getByName("directory-0");
const directory = () => stub() as unknown as DirectoryCalls;
const dues = async (now: number) => (await directory().due(now, 100)).map(({ name, due }) => [name, due]);
const entry = async (name: string) =>
  (await directory().due(Number.MAX_SAFE_INTEGER, 100)).find((found) => found.name === name) as DirectoryEntry;

beforeEach(() => emptyDeployment());

describe("the directory", () => {
  it("keeps of each name the earliest time it was told", async () => {
    await directory().note("a", 300);
    await directory().note("a", 100);
    await directory().note("a", 200);
    await directory().note("b", 50);
    expect(await dues(99)).toEqual([["b", 50]]);
    expect(await dues(100)).toEqual([
      ["b", 50],
      ["a", 100],
    ]);
  });

  it("is read in pages, earliest first", async () => {
    for (const [name, due] of [
      ["c", 2],
      ["a", 2],
      ["b", 1],
      ["d", 3],
      ["e", 9],
    ] as const)
      await directory().note(name, due);
    const first = await directory().due(5, 2);
    expect(first.map(({ name }) => name)).toEqual(["b", "a"]);
    const second = await directory().due(5, 2, first[1]);
    expect(second.map(({ name }) => name)).toEqual(["c", "d"]);
    expect(await directory().due(5, 2, second[1])).toEqual([]);
  });

  it("moves or removes an entry that is as it was seen", async () => {
    await directory().note("a", 100);
    await directory().settle(await entry("a"), 500);
    expect(await dues(499)).toEqual([]);
    expect(await dues(500)).toEqual([["a", 500]]);
    await directory().settle(await entry("a"), null);
    expect(await dues(Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  it("leaves an entry alone that was noted since, even with the same time", async () => {
    await directory().note("a", 100);
    const seen = await entry("a");
    await directory().note("a", 100);
    await directory().settle(seen, null);
    await directory().settle(seen, 900);
    expect(await dues(100)).toEqual([["a", 100]]);
  });

  it("leaves an entry alone that was removed and noted again since", async () => {
    await directory().note("a", 100);
    const seen = await entry("a");
    await directory().settle(seen, null);
    await directory().note("a", 100);
    await directory().settle(seen, null);
    expect(await dues(100)).toEqual([["a", 100]]);
  });

  it("stores nothing for being asked", async () => {
    expect(await dues(100)).toEqual([]);
    await directory().settle({ name: "a", due: 1, mark: "m" }, 5);
    await directory().settle({ name: "a", due: 1, mark: "m" }, null);
    expect(await storedIn(stub())).toEqual(NOTHING);
  });
});
