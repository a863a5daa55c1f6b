import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { RecordEntry } from "../../src/record/record";
import type { Limits } from "../../src/service/limits";
import type { RecordKey, RecordStore } from "../../src/service/record-store";
import { ANY, created, holdIndex } from "../stores/record-calls";
import { emptyRecords, namespaceNamed, recordNamed } from "../stores/records";

const MINUTE = 60_000;
const KEY: RecordKey = { namespace: namespaceNamed("none"), space: null, id: "a" };

const object = () => recordNamed({ namespace: "none", space: null }, "a");

/** A deployment with one record in it. */
async function deployed(ttlMs: number | null = null, over: Partial<Limits> = {}) {
  const deployment = await emptyRecords(over);
  await created(deployment.records, KEY, { ttlMs }, {}, "o");
  return deployment;
}

const note = (records: RecordStore, text: string) =>
  records.write(KEY, ANY, { kind: "merge", version: null, changes: { document: JSON.stringify({ [text]: 1 }) } });

/** Hears the log until it ends. */
async function listening(records: RecordStore, after = 0, signal = new AbortController().signal) {
  const heard: RecordEntry[] = [];
  const feed = await records.watch(KEY, ANY, after, signal);
  if (!feed) throw new Error("There is no such record.");
  const ended = (async () => {
    for await (const entry of feed) heard.push(entry);
  })();
  return { heard, ended, seqs: () => heard.map(({ seq }) => seq) };
}

afterEach(() => vi.restoreAllMocks());

describe("a record's feed", () => {
  it("gives what was missed and then what happens, through an eviction", async () => {
    const { records } = await deployed();
    await note(records, "a");
    const leaving = new AbortController();
    const { seqs, ended } = await listening(records, 1, leaving.signal);
    await expect.poll(seqs).toEqual([2]);
    await evictDurableObject(object());
    await note(records, "b");
    await expect.poll(seqs).toEqual([2, 3]);
    leaving.abort();
    await ended;
  });

  it("goes on over a new socket when one breaks, nothing missed and nothing twice", async () => {
    const { records } = await deployed();
    const leaving = new AbortController();
    const { heard, seqs, ended } = await listening(records, 0, leaving.signal);
    await expect.poll(seqs).toEqual([1]);
    // As a deploy does it: the sockets are gone, and nobody said that it was over.
    await runInDurableObject(object(), (_, state) => {
      for (const socket of state.getWebSockets()) socket.close(1012, "restart");
    });
    for (const text of ["a", "b"]) await note(records, text);
    await expect.poll(seqs).toEqual([1, 2, 3]);
    await runInDurableObject(object(), (_, state) => state.abort("reset")).catch(() => {});
    await note(records, "c");
    await expect.poll(seqs, { timeout: 5_000 }).toEqual([1, 2, 3, 4]);
    expect(heard).toEqual(await records.entries(KEY, ANY, 0, 10));
    leaving.abort();
    await ended;
  });

  it("gives a long log piece by piece, each entry once", async () => {
    const { records } = await deployed();
    const answer = `"${"x".repeat(3_000_000)}"`;
    for (const key of ["a", "b", "c", "d", "e"]) {
      await records.write(KEY, ANY, { kind: "set_questions", requests: `{"${key}":{}}` });
      await records.write(KEY, ANY, { kind: "resolve", responses: `{"${key}":${answer}}` });
      // What was answered need not stay in the record.
      const task = { inputResponses: "{}" };
      await records.write(KEY, ANY, { kind: "merge", version: null, changes: { task } });
    }
    const leaving = new AbortController();
    const { heard, seqs, ended } = await listening(records, 0, leaving.signal);
    await expect.poll(() => seqs().length, { timeout: 10_000 }).toBe(16);
    expect(seqs()).toEqual(Array.from({ length: 16 }, (_, n) => n + 1));
    const answered = heard.filter(({ event }) => event.kind === "answered" && event.response === answer);
    expect(answered).toHaveLength(5);
    leaving.abort();
    await ended;
  });

  it("ends with the record before the index knows that it is gone", async () => {
    const { records } = await deployed();
    const { seqs, ended } = await listening(records);
    await expect.poll(seqs).toEqual([1]);
    const { asked, release } = holdIndex("swept");
    const removing = records.remove(KEY, ANY);
    await asked();
    const open = await runInDurableObject(
      object(),
      (_, state) => state.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN).length,
    );
    expect(open).toBe(0);
    await ended;
    expect(seqs()).toEqual([1]);
    release();
    expect(await removing).toBe(true);
  });

  it("ends when the record is collected, and when it went while a socket was broken", async () => {
    const { records, clock, sweep } = await deployed(MINUTE);
    const { seqs, ended } = await listening(records);
    const other = await listening(records);
    await expect.poll(() => [...seqs(), ...other.seqs()]).toEqual([1, 1]);
    clock.advance(5 * MINUTE);
    await runInDurableObject(object(), (_, state) => state.getWebSockets()[0]?.close(1012, "restart"));
    await sweep();
    await Promise.all([ended, other.ended]);
  });

  it("is open to so many at once, which only those learn who may see the record", async () => {
    const { records } = await deployed(null, { maxStreamsPerOwner: 2 });
    const leaving = new AbortController();
    const open = [await listening(records, 0, leaving.signal), await listening(records, 0, leaving.signal)];
    await expect(records.watch(KEY, ANY, 0, leaving.signal)).rejects.toMatchObject({ code: "limit_reached" });
    expect(await records.watch({ ...KEY, id: "other" }, ANY, 0, leaving.signal)).toBeNull();
    const strict = { ...KEY, namespace: { ...KEY.namespace, owners: "strict" } } as const;
    expect(await records.watch(strict, { kind: "owner", owner: "b" }, 0, leaving.signal)).toBeNull();
    leaving.abort();
    await Promise.all(open.map(({ ended }) => ended));
    await expect.poll(async () => (await records.watch(KEY, ANY, 0, AbortSignal.abort())) !== null).toBe(true);
  });
});
