import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Picked, PickWish, WorkQueue } from "../../src/service/work-queue";
import type { Owner } from "../../src/task/task";

const NOW = 1_000_000;
const LEASE_MS = 30_000;

const wish = (key: string, over: Partial<PickWish> = {}): PickWish => ({
  key,
  max: 1,
  now: NOW,
  until: (over.now ?? NOW) + LEASE_MS,
  tools: null,
  ...over,
});

const idsOf = (picked: readonly Picked[]): readonly string[] => picked.map(({ id }) => id);

/** What every queue does, wherever it lies. `makeQueue` gives an empty one. */
export function describeWorkQueue(name: string, makeQueue: () => WorkQueue | Promise<WorkQueue>, runs = 100): void {
  describe(name, () => {
    const setUp = async () => {
      const queue = await makeQueue();
      const offer = (id: string, owner: Owner = "o", tool = "t") => queue.offer({ id, owner, tool }, NOW);
      const offerAll = async (ids: string, owner: Owner = "o", tool = "t") => {
        for (const id of ids) await offer(id, owner, tool);
      };
      /** What one claim of one task gets, agreed. */
      let claims = 0;
      const take = async (over: Partial<PickWish> = {}) => {
        claims += 1;
        const picked = await queue.pick(wish(`claim ${claims}`, over));
        await queue.agreed(picked, [], over.now ?? NOW);
        return idsOf(picked).join("");
      };
      const takeAll = async () => {
        const taken: string[] = [];
        for (let next = await take(); next !== ""; next = await take()) taken.push(next);
        return taken.join("");
      };
      return { queue, offer, offerAll, take, takeAll };
    };

    it("has nothing to pick when nothing was offered", async () => {
      const { queue } = await setUp();
      expect(await queue.pick(wish("k", { max: 100 }))).toEqual([]);
      await queue.agreed([{ id: "a", lease: "l", until: NOW }], [{ id: "b", lease: "m", until: NOW }], NOW);
      await queue.withdraw("a");
      expect(await queue.pick(wish("k"))).toEqual([]);
    });

    it("gives each task out once, under a lease of its own", async () => {
      const { queue, offerAll } = await setUp();
      await offerAll("abc");
      const picked = await queue.pick(wish("k", { max: 2 }));
      expect(idsOf(picked)).toEqual(["a", "b"]);
      expect(new Set(picked.map(({ lease }) => lease)).size).toBe(2);
      expect(picked.map(({ until }) => until)).toEqual([NOW + LEASE_MS, NOW + LEASE_MS]);
      expect(idsOf(await queue.pick(wish("l", { max: 100 })))).toEqual(["c"]);
      expect(await queue.pick(wish("m"))).toEqual([]);
    });

    it("gives ten tasks to twenty parallel claims ten times", async () => {
      const { queue, offerAll } = await setUp();
      await offerAll("abcdefghij");
      const picked = await Promise.all(Array.from({ length: 20 }, (_, n) => queue.pick(wish(`k${n}`))));
      expect(picked.filter(({ length }) => length === 1)).toHaveLength(10);
      expect(picked.flatMap(idsOf).toSorted().join("")).toBe("abcdefghij");
    });

    it("gives the oldest first, whatever its tool, and takes a task that is offered again as the same", async () => {
      const { offer, offerAll, takeAll } = await setUp();
      await offerAll("ab");
      await offer("c", "o", "other");
      await offerAll("dab");
      expect(await takeAll()).toBe("abcd");
    });

    it("gives only tasks of the tools that are wanted", async () => {
      const { offer, take } = await setUp();
      await offer("a", "o", "first");
      await offer("b", "o", "second");
      await offer("c", "o", "third");
      expect(await take({ tools: ["fourth"], max: 9 })).toBe("");
      expect(await take({ tools: [], max: 9 })).toBe("");
      expect(await take({ tools: ["third", "second"], max: 9 })).toBe("bc");
      expect(await take({ tools: ["third", "first"], max: 9 })).toBe("a");
    });

    describe("a claim that is repeated", () => {
      it("gets the same tasks under the same leases, and no others, until they have ended", async () => {
        const { queue, offerAll } = await setUp();
        await offerAll("abcd");
        const first = await queue.pick(wish("k", { max: 2 }));
        expect(await queue.pick(wish("k", { max: 2 }))).toEqual(first);
        await queue.agreed(first, [], NOW);
        const later = NOW + LEASE_MS - 1;
        const again = await queue.pick(wish("k", { max: 100, now: later }));
        expect(again).toEqual(first.map((pick) => ({ ...pick, until: later + LEASE_MS })));
        await queue.agreed(first, [], later);
        expect(idsOf(await queue.pick(wish("k", { max: 100, now: NOW + LEASE_MS })))).toEqual(["c", "d"]);
      });

      it("gets what is left of them when some are gone, and others when all are", async () => {
        const { queue, offerAll } = await setUp();
        await offerAll("abc");
        const [a, b] = (await queue.pick(wish("k", { max: 2 }))) as [Picked, Picked];
        await queue.agreed([b], [a], NOW);
        expect(await queue.pick(wish("k", { max: 2 }))).toEqual([b]);
        await queue.agreed([], [b], NOW);
        expect(idsOf(await queue.pick(wish("k", { max: 2 })))).toEqual(["c"]);
      });

      it("is nobody else's", async () => {
        const { queue, offer } = await setUp();
        await offer("a");
        await queue.pick(wish("k"));
        expect(await queue.pick(wish("K"))).toEqual([]);
      });
    });

    describe("a pick", () => {
      it("that no task agreed to in time is picked again, in its old place and under another lease", async () => {
        const { queue, offerAll, takeAll } = await setUp();
        await offerAll("abc");
        const [lost] = await queue.pick(wish("k"));
        const late = wish("l", { now: NOW + LEASE_MS });
        expect(await queue.pick({ ...late, now: late.now - 1 })).toMatchObject([{ id: "b" }]);
        const [again] = await queue.pick({ ...late, key: "m" });
        expect(again).toMatchObject({ id: "a" });
        expect(again?.lease).not.toBe(lost?.lease);
        await queue.agreed([lost as Picked], [lost as Picked], NOW);
        expect(await queue.pick({ ...late, key: "m" })).toEqual([again]);
        expect(await takeAll()).toBe("c");
      });

      it("that its task agreed to is never picked again, unless its task offers itself", async () => {
        const { queue, offer, take } = await setUp();
        await offer("a");
        expect(await take()).toBe("a");
        expect(await take({ now: NOW + 100 * LEASE_MS })).toBe("");
        await offer("a");
        expect(await take()).toBe("a");
        await offer("a");
        await offer("b");
        expect(idsOf(await queue.pick(wish("k", { max: 9 })))).toEqual(["a", "b"]);
      });

      it("whose task is gone leaves the queue, but not what the task offered meanwhile", async () => {
        const { queue, offer, take } = await setUp();
        await offer("a");
        const [pick] = (await queue.pick(wish("k"))) as [Picked];
        await queue.agreed([], [pick], NOW);
        expect(await take()).toBe("");
        await offer("a");
        const [second] = (await queue.pick(wish("k"))) as [Picked];
        await offer("a");
        await queue.agreed([], [second], NOW);
        expect(await take()).toBe("a");
      });

      it("is over when its task is withdrawn", async () => {
        const { queue, offerAll, takeAll } = await setUp();
        await offerAll("abc");
        await queue.pick(wish("k"));
        await queue.withdraw("a");
        await queue.withdraw("b");
        expect(idsOf(await queue.pick(wish("k", { max: 9 })))).toEqual(["c"]);
        expect(await takeAll()).toBe("");
      });
    });

    describe("owners", () => {
      it("take turns: who was served longest ago comes first, and who never was before all", async () => {
        const { offerAll, take, takeAll } = await setUp();
        await offerAll("abcde", "first");
        await offerAll("xy", "second");
        expect([await take(), await take(), await take()].join("")).toBe("axb");
        await offerAll("1", "third");
        expect(await takeAll()).toBe("1ycde");
      });

      it("that belong to nobody are one, and one called null is another", async () => {
        const { offerAll, takeAll } = await setUp();
        await offerAll("ab", null);
        await offerAll("12", "null");
        await offerAll("xy", 'any "text"\u0000\u2028💥');
        expect(await takeAll()).toBe("a1xb2y");
      });

      it("take turns over all their tools", async () => {
        const { offer, offerAll, take, takeAll } = await setUp();
        await offerAll("ab", "first", "one");
        await offerAll("cd", "first", "two");
        await offer("x", "second", "two");
        await offer("y", "second", "one");
        expect(await take({ tools: ["one"] })).toBe("a");
        expect(await take({ tools: ["two"] })).toBe("x");
        // The second has been served since, with another tool.
        expect(await take({ tools: ["one"] })).toBe("b");
        expect(await takeAll()).toBe("yc" + "d");
      });

      it("come no sooner by tools that they had nothing of before", async () => {
        const { offer, offerAll, take, takeAll } = await setUp();
        await offerAll("xy", "second", "one");
        await offer("a", "first", "one");
        expect([await take(), await take()].join("")).toBe("xa");
        await offer("b", "first", "two");
        expect(await takeAll()).toBe("yb");
      });

      it("that come and go with one task at a time do not overtake who waits", async () => {
        const { offer, offerAll, take } = await setUp();
        await offerAll("abc", "patient");
        let taken = "";
        for (const id of "123456") {
          await offer(id, "hasty");
          taken += await take();
        }
        expect(taken).toBe("a1b2c3");
      });

      it("are not served with what was gone already", async () => {
        const { queue, offerAll, takeAll } = await setUp();
        await offerAll("abc", "first");
        await offerAll("xyz", "second");
        for (const key of ["k", "l"]) {
          const [pick] = await queue.pick(wish(key));
          await queue.agreed([], [pick as Picked], NOW);
        }
        expect(await takeAll()).toBe("cxyz");
      });

      it("never get two while another that waits gets none", async () => {
        const step = fc.oneof(
          {
            weight: 3,
            arbitrary: fc.record({ owner: fc.constantFrom("a", "b", "c", null), tool: fc.constantFrom("s", "t") }),
          },
          {
            weight: 2,
            arbitrary: fc.record({ max: fc.integer({ min: 1, max: 3 }), gone: fc.integer({ min: 0, max: 2 }) }),
          },
        );
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
            const { queue, offer } = await setUp();
            const waiting = new Map<string, Owner>();
            /** For each owner that waits, what each of the others got since it last got something. */
            const since = new Map<Owner, Map<Owner, number>>();
            const owners = () => new Set(waiting.values());
            let n = 0;
            for (const one of steps) {
              n += 1;
              if ("tool" in one) {
                const id = `task ${n}`;
                if (!owners().has(one.owner)) since.set(one.owner, new Map());
                waiting.set(id, one.owner);
                await offer(id, one.owner, one.tool);
                continue;
              }
              const picked = await queue.pick(wish(`claim ${n}`, { max: one.max }));
              expect(picked).toHaveLength(Math.min(one.max, waiting.size));
              const gone = picked.slice(picked.length - Math.min(one.gone, picked.length));
              await queue.agreed(picked.slice(0, picked.length - gone.length), gone, NOW);
              for (const pick of picked) {
                const owner = waiting.get(pick.id) as Owner;
                waiting.delete(pick.id);
                if (gone.includes(pick)) continue;
                since.set(owner, new Map());
                for (const other of owners()) {
                  if (other === owner) continue;
                  const got = since.get(other) as Map<Owner, number>;
                  got.set(owner, (got.get(owner) ?? 0) + 1);
                  expect(got.get(owner)).toBeLessThan(2);
                }
              }
            }
          }),
          { numRuns: runs },
        );
      });
    });

    describe("a watcher", () => {
      const watching = (queue: WorkQueue, signal: AbortSignal) => {
        const heard: unknown[] = [];
        const ended = (async () => {
          for await (const message of queue.watch(signal)) heard.push(message);
        })();
        return { heard, ended };
      };

      it("hears at once that something waits, and of what is offered later, until it leaves", async () => {
        const { queue, offer, take } = await setUp();
        await offer("a");
        const leaving = new AbortController();
        const { heard, ended } = watching(queue, leaving.signal);
        await expect.poll(() => heard.length).toBe(1);
        await take();
        await offer("b");
        await expect.poll(() => heard.length).toBe(2);
        await take();
        await offer("a");
        await expect.poll(() => heard.length).toBe(3);
        leaving.abort();
        await ended;
      });

      it("hears nothing while nothing waits", async () => {
        const { queue, offer, take } = await setUp();
        await offer("a");
        await take();
        const leaving = new AbortController();
        const { heard, ended } = watching(queue, leaving.signal);
        const other = watching(queue, leaving.signal);
        await queue.withdraw("a");
        leaving.abort();
        await Promise.all([ended, other.ended]);
        expect([...heard, ...other.heard]).toEqual([]);
      });

      it("of a tool hears of it although another tool's tasks wait", async () => {
        const { queue, offer } = await setUp();
        await offer("a", "o", "one");
        const leaving = new AbortController();
        const { heard, ended } = watching(queue, leaving.signal);
        await expect.poll(() => heard.length).toBe(1);
        await offer("b", "o", "two");
        await expect.poll(() => heard.length).toBe(2);
        leaving.abort();
        await ended;
      });

      it("that has left already ends", async () => {
        const { queue, offer } = await setUp();
        await offer("a");
        await watching(queue, AbortSignal.abort()).ended;
      });
    });
  });
}
