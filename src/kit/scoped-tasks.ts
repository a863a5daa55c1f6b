import type { RecordStatus } from "../record/record";
import type { StoreApi } from "../store-api/api";
import { isEqual } from "./expect";
import { madeBy, stage, taskOf, writtenBy } from "./stage";
import type { ContractCase } from "./subject";

/** The rest of the store whose updates merge: who sees what, and what it may stand on. */
export const scopedTasks: readonly ContractCase[] = [
  {
    id: "A11",
    title: "a task with an owner is hidden from other owners, and open to nobody; one without is open to all",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const [a, b, nobody] = [{ owner: owner("a") }, { owner: owner("b") }, { owner: null }];
      const owned = madeBy(await worker.create("lenient", { id: id("owned") }, a));
      const unowned = madeBy(await worker.create("lenient", { id: id("unowned") }, nobody));
      for (const call of everyCall(worker, "lenient")) {
        isEqual(await call(owned.id, b), await call(id("missing"), b), "what is another's reads as missing");
      }
      isEqual(await worker.get("lenient", owned.id, a), owned, "the owner sees it, and nothing has changed");
      isEqual(await worker.get("lenient", owned.id, nobody), owned, "a caller who is nobody sees it");
      isEqual(await worker.get("lenient", unowned.id, b), unowned, "what is nobody's is open");
      const { records } = await worker.list("lenient", { ...b, limit: 100 });
      const ids = records.map((record) => record.id);
      isEqual([ids.includes(owned.id), ids.includes(unowned.id)], [false, true], "a list hides what get hides");
      writtenBy(await worker.cancel("lenient", unowned.id, b));
      writtenBy(await worker.cancel("lenient", owned.id, nobody));
    },
  },
  {
    id: "A13",
    title: "the same calls come to the same in every namespace of tasks",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const outcomes = new Map<string, unknown>();
      for (const namespace of ["default", "strict", "lenient", "none"]) {
        const as = { owner: owner() };
        const seen = [];
        for (const step of [
          () => worker.create(namespace, { id: id(), document: '{"a":1}' }, as),
          () => worker.create(namespace, { id: id() }, as),
          () => worker.merge(namespace, id(), { document: '{"b":2}' }, as),
          () => worker.setQuestions(namespace, id(), '{"q":{"method":"ask"}}', as),
          () => worker.resolve(namespace, id(), '{"q":{"ok":true}}', as),
          () => worker.setStatus(namespace, id(), "completed", { task: { result: '{"r":1}' } }, as),
          () => worker.cancel(namespace, id(), as),
          () => worker.events(namespace, id(), as),
          () => worker.remove(namespace, id(), as),
          () => worker.get(namespace, id(), as),
        ]) {
          seen.push(await step());
        }
        outcomes.set(namespace, comparable(seen));
      }
      for (const outcome of outcomes.values()) isEqual(outcome, outcomes.get("default"), "policies rule access alone");
    },
  },
  {
    id: "A15",
    title: "the states of a job queue have their statuses",
    run: async (subject) => {
      const { clientA, id } = stage(subject);
      // A job that sleeps waits for something other than an answer: no question is open.
      const lives: readonly (readonly RecordStatus[])[] = [
        ["working", "input_required", "working", "completed"],
        ["working", "failed"],
        ["input_required", "cancelled"],
        ["input_required", "failed"],
        ["completed"],
      ];
      for (const [n, life] of lives.entries()) {
        madeBy(await clientA.create("default", { id: id(String(n)) }));
        for (const status of life) {
          const told = await clientA.setStatus("default", id(String(n)), status);
          isEqual(told && taskOf(told.record).status, status, `a task may become ${life.join(", then ")}`);
        }
      }
    },
  },
];

/** Every call that names one record, each as what a stranger learns from it. */
export function everyCall(
  api: StoreApi,
  namespace: string,
): readonly ((id: string, as: { readonly owner: string | null }) => Promise<unknown>)[] {
  return [
    (id, as) => api.get(namespace, id, as),
    (id, as) => api.replace(namespace, id, null, { document: '{"foreign":1}' }, as),
    (id, as) => api.merge(namespace, id, { document: '{"foreign":1}' }, as),
    (id, as) => api.setStatus(namespace, id, "failed", {}, as),
    (id, as) => api.setQuestions(namespace, id, '{"foreign":{}}', as),
    (id, as) => api.resolve(namespace, id, '{"foreign":{}}', as),
    (id, as) => api.cancel(namespace, id, as),
    (id, as) => api.events(namespace, id, { ...as, after: 0, waitMs: 1 }),
    (id, as) => api.revisions(namespace, id, as),
    (id, as) => api.remove(namespace, id, as),
  ];
}

const comparable = (seen: unknown): unknown =>
  JSON.parse(
    JSON.stringify(seen)
      .replaceAll(/"(createdAt|updatedAt|settledAt|at)":\d+/g, '"$1":0')
      .replaceAll(/"namespace":"\w+"/g, '"namespace":""'),
  );
