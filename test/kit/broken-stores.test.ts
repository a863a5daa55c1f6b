// A suite that passes whatever it meets proves nothing: each of these stores breaks one promise.
import { describe, expect, it } from "vitest";
import { recordContract } from "../../src/kit/contract";
import { randomInterleavings } from "../../src/kit/interleavings";
import type { Subject } from "../../src/kit/subject";
import type { StoreApi } from "../../src/store-api/api";
import { memorySubject } from "./memory-subject";

type Fault = (store: StoreApi) => Partial<StoreApi>;

function broken(fault: Fault): Subject {
  const subject = memorySubject();
  return { ...subject, api: (as) => withFault(subject.api(as), fault) };
}

function withFault(store: StoreApi, fault: Fault): StoreApi {
  const faulty = fault(store);
  return new Proxy(store, {
    get: (target, name: keyof StoreApi) => faulty[name] ?? (target[name] as () => unknown).bind(target),
  });
}

const faults: readonly (readonly [id: string, what: string, fault: Fault])[] = [
  ["A1", "gives ids of its own", (store) => ({ create: (name, { id: _, ...draft }) => store.create(name, draft) })],
  [
    "A2",
    "reads documents and writes them anew",
    (store) => ({
      create: (name, draft, options) =>
        store.create(name, { ...draft, document: reparsed(draft.document ?? "{}") }, options),
    }),
  ],
  [
    "A6",
    "replaces where it should merge",
    (store) => ({ merge: (name, id, changes, as) => replaced(store, name, id, changes, as) }),
  ],
  ["A8", "deletes twice", (store) => ({ remove: async (...args) => (await store.remove(...args)) || true })],
  [
    "A9",
    "lists the oldest first",
    (store) => ({
      list: async (name, query) => {
        const page = await store.list(name, query);
        return { ...page, records: page.records.toReversed() };
      },
    }),
  ],
  ["A11", "asks for no owner", (store) => ({ get: (name, id) => store.get(name, id, { any: true }) })],
  [
    "B4",
    "has no cap",
    (store) => ({ create: (name, draft, { maxRows: _, ...as } = {}) => store.create(name, draft, as) }),
  ],
  [
    "B6",
    "swaps without comparing",
    (store) => ({ replace: (name, id, _, content, as) => store.replace(name, id, null, content, as) }),
  ],
  [
    "B11",
    "counts what it did not remove",
    (store) => ({
      cleanup: async (...args) => {
        const { removed, more } = await store.cleanup(...args);
        return { removed: removed + 1, more };
      },
    }),
  ],
  [
    "T3",
    "keeps the last save only",
    (store) => ({ revisions: async (...args) => (await store.revisions(...args))?.slice(0, 1) ?? null }),
  ],
  [
    "T9",
    "keeps ids in a form that a file may have",
    (store) => ({ save: (name, id, ...rest) => store.save(name, id.replaceAll(/[^\w-]/g, "_"), ...rest) }),
  ],
  [
    "D7",
    "says of each cancel that it was the one",
    (store) => ({
      cancel: async (...args) => {
        const told = await store.cancel(...args);
        return told && { ...told, kind: "written" };
      },
    }),
  ],
  [
    "D10",
    "tells from the beginning each time",
    (store) => ({ events: (name, id, options) => store.events(name, id, { ...options, after: 0 }) }),
  ],
];

describe("the contract kit", () => {
  it.each(faults)("%s finds out a store that %s", async (id, _, fault) => {
    const item = recordContract.find((one) => one.id === id);
    await expect(item?.run(broken(fault))).rejects.toMatchObject({ name: "Unmet" });
  });

  it("has each item of the contracts that a store can be asked about, once", () => {
    const ids = recordContract.map(({ id }) => id);
    const numbered = (letter: string, numbers: readonly number[]) => numbers.map((number) => `${letter}${number}`);
    expect(ids).toEqual(
      [
        numbered("A", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15]),
        numbered("B", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        numbered("T", [1, 2, 3, 4, 5, 7, 9]),
        numbered("D", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]),
      ].flat(),
    );
  });
});

describe("random interleavings", () => {
  const unsound: readonly (readonly [what: string, fault: Fault])[] = [
    [
      "swaps without comparing",
      (store) => ({ replace: (name, id, _, content, as) => store.replace(name, id, null, content, as) }),
    ],
    [
      "merges what it read a moment ago",
      (store) => ({ merge: (name, id, changes, as) => replaced(store, name, id, changes, as) }),
    ],
    [
      "answers a question that nobody asked",
      (store) => ({
        resolve: async (name, id, responses, as) => {
          const told = await store.resolve(name, id, responses, as);
          return told && { ...told, kind: "written" };
        },
      }),
    ],
    [
      "shows the past now and then",
      (store) => {
        const past = new Map<string, Awaited<ReturnType<StoreApi["get"]>>>();
        return {
          get: async (name, id, as) => {
            const record = past.get(id) ?? (await store.get(name, id, as));
            past.set(id, record);
            return record;
          },
        };
      },
    ],
    [
      "tells of an answer twice",
      (store) => ({
        events: async (...args) => {
          const news = await store.events(...args);
          return (
            news && {
              ...news,
              entries: news.entries.flatMap((entry) => (entry.event.kind === "answered" ? [entry, entry] : [entry])),
            }
          );
        },
      }),
    ],
  ];

  it.each(unsound)("find out a store that %s, and say how to see it again", async (_, fault) => {
    await expect(randomInterleavings(broken(fault), { runs: 100, seed: 7 })).rejects.toThrow(/Run \d+ .* the seed 7/);
  });
});

const reparsed = (text: string): string => JSON.stringify(JSON.parse(text));

/** Reads, changes, and writes back whatever was written in between. */
async function replaced(store: StoreApi, ...[name, id, changes, as]: Parameters<StoreApi["merge"]>) {
  const read = await store.get(name, id, as);
  if (!read) return null;
  const document = { ...(JSON.parse(read.document) as object), ...(JSON.parse(changes.document ?? "{}") as object) };
  const task = { ...read.task, ...changes.task };
  return store.replace(name, id, null, { document: JSON.stringify(document), task }, as);
}
