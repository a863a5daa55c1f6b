import type { StoredRecord } from "../record/record";
import type { StoreApi } from "../store-api/api";
import { isEqual, isRefused, isThere, isTrue } from "./expect";
import { isAscending, madeBy, parsed, stage, taskOf, times, writtenBy } from "./stage";
import type { ContractCase } from "./subject";

/** A store whose updates replace a task by a function of it: fields, ids, the cap, owners, compare-and-swap. */
export const replacingTasks: readonly ContractCase[] = [
  {
    id: "B1",
    title: "every field comes back as it was given, and null stays null",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      const task = {
        status: "input_required",
        statusMessage: "Waits for Anna. 🎉",
        pollIntervalMs: 1_500,
        inputRequests: '{"b":{"method":"x"},"a":{"n":1.0}}',
        inputResponses: '{"c":{"action":"accept"}}',
        result: '{"big":12345678901234567890}',
        error: '{"code":-32603,"message":"no"}',
      } as const;
      const full = madeBy(await worker.create("strict", { id: id("full"), ttlMs: 3_600_000, task }, as));
      isEqual(full.task, task, "given fields are kept");
      isEqual([full.owner, full.ttlMs], [owner(), 3_600_000], "owner and ttl are kept");
      const bare = madeBy(await worker.create("strict", { id: id("bare") }));
      const blank = {
        status: "working",
        statusMessage: null,
        pollIntervalMs: null,
        inputRequests: "{}",
        inputResponses: "{}",
        result: null,
        error: null,
      };
      isEqual(bare.task, blank, "what is left out is null or empty");
      isEqual([bare.owner, bare.ttlMs, bare.settledAt], [null, null, null], "null stays null");
      await subject.restart?.();
      isEqual(await worker.get("strict", id("full"), as), full, "it is stored as it was answered");
      isEqual(await worker.get("strict", id("bare")), bare, "and so is what is null");
      const cleared = { ...task, statusMessage: null, result: null };
      const written = writtenBy(await worker.merge("strict", id("full"), { task: cleared, ttlMs: null }, as));
      isEqual([written.task, written.ttlMs], [cleared, null], "a field can be set to null again");
    },
  },
  {
    id: "B2",
    title: "an id that is minted has 43 URL-safe characters, and a given one of that form is accepted",
    run: async (subject) => {
      const { worker } = stage(subject);
      const made = await Promise.all(times(50, () => worker.create("strict", {})));
      const ids = made.map((created) => madeBy(created).id);
      isTrue(
        ids.every((id) => /^[A-Za-z0-9_-]{43}$/.test(id)),
        "32 bytes in base64url",
      );
      isEqual(new Set(ids).size, 50, "none is given out twice");
      const given = `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", "").slice(0, 43);
      isEqual(madeBy(await worker.create("strict", { id: given })).id, given, "a given id of that form is as good");
      isEqual((await worker.get("strict", given))?.id, given, "and is found");
    },
  },
  {
    id: "B3",
    title: "a namespace without a list has none but for admins, and none at all for clients",
    run: async (subject) => {
      const { worker, admin, clientA, id, owner } = stage(subject);
      madeBy(await worker.create("strict", { id: id() }, { owner: owner() }));
      await isRefused(worker.list("strict", { owner: owner() }), ["not_found"], "a worker gets no list");
      await isRefused(worker.list("strict", { any: true }), ["not_found"], "nor one of all");
      const { records } = await admin.list("strict", { owner: owner() });
      isEqual(
        records.map((record) => record.id),
        [id()],
        "an admin does",
      );
      const closed = ["not_found", "insufficient_scope"];
      for (const call of [
        () => clientA.list("strict"),
        () => clientA.get("strict", id()),
        () => clientA.create("strict", { id: id() }),
        () => clientA.cleanup("strict", 0),
      ]) {
        await isRefused(call(), closed, "to a client the namespace is closed");
      }
    },
  },
  {
    id: "B4",
    title: "a cap is exact under 200 parallel creates, and a place that goes is free again",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      const capped = { ...as, maxRows: 100 };
      const outcomes = await Promise.allSettled(
        times(200, (n) => worker.create("default", { id: id(String(n)) }, capped)),
      );
      isEqual(outcomes.filter(({ status }) => status === "fulfilled").length, 100, "the cap is reached exactly");
      for (const [n, outcome] of outcomes.entries()) {
        const found = await worker.get("default", id(String(n)), as);
        isEqual(found !== null, outcome.status === "fulfilled", "what was refused is not stored, what was made is");
        if (outcome.status === "rejected") {
          await isRefused(Promise.reject(outcome.reason as Error), ["limit_reached"], "the refusal says which limit");
        }
      }
      await isRefused(worker.create("default", {}, capped), ["limit_reached"], "one more is refused");
      const first = outcomes.findIndex(({ status }) => status === "fulfilled");
      isTrue(await worker.remove("default", id(String(first)), as), "one goes");
      madeBy(await worker.create("default", {}, capped));
      await isRefused(worker.create("default", {}, capped), ["limit_reached"], "its place is one place");
      madeBy(await worker.create("default", {}, { ...as, maxRows: null }));
    },
  },
  {
    id: "B5",
    title: "only the very owner finds a task: nobody's is nobody's, and any skips the question",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const owners = [owner("a"), owner("b"), null];
      for (const [n, whose] of owners.entries()) {
        const made = madeBy(await worker.create("strict", { id: id(String(n)) }, { owner: whose }));
        for (const asking of owners) {
          const found = await worker.get("strict", made.id, { owner: asking });
          isEqual(found, asking === whose ? made : null, `what is ${whose}'s is looked for by ${asking}`);
        }
        isEqual(await worker.get("strict", made.id), whose === null ? made : null, "naming no owner is being nobody");
        isEqual(await worker.get("strict", made.id, { any: true }), made, "any finds it");
        isEqual(await worker.cancel("strict", made.id, { owner: owner("c") }), null, "a stranger cancels nothing");
        const foreign = { document: '{"foreign":1}' };
        isEqual(
          await worker.replace("strict", made.id, 1, foreign, { owner: owner("c") }),
          null,
          "and updates nothing",
        );
      }
    },
  },
  {
    id: "B6",
    title: "an update by compare-and-swap replaces the whole task, or gives back the fresh one",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      const fields = { statusMessage: "one", result: '{"a":1}' };
      const draft = { id: id(), ttlMs: 3_600_000, document: '{"a":1,"b":2}', task: fields };
      const first = madeBy(await worker.create("strict", draft, as));
      await subject.advance(5);
      const second = writtenBy(await worker.replace("strict", id(), 1, { document: '{"b":3}' }, as));
      isEqual(second.document, '{"b":3}', "members left out are gone");
      isEqual([taskOf(second).statusMessage, taskOf(second).result], [null, null], "fields left out are gone");
      const fixed = ({ id: own, owner: whose, createdAt, ttlMs }: StoredRecord) => [own, whose, createdAt, ttlMs];
      isEqual(fixed(second), fixed(first), "id, owner and beginning stay, and the ttl, being left out");
      isEqual(second.version, 2, "each write is one version");
      isAscending([first.updatedAt, second.updatedAt], "updatedAt never goes back");
      const late = await worker.replace("strict", id(), 1, { document: '{"c":4}' }, as);
      isEqual(late, { kind: "stale", record: second }, "an old version writes nothing and is given the fresh record");
      isEqual(await worker.get("strict", id(), as), second, "nothing was written");
      await Promise.all(times(10, () => increment(worker, id(), as)));
      const counted = isThere(await worker.get("strict", id(), as), "it is there");
      isEqual(parsed(counted.document), { b: 3, count: 10 }, "ten loops at once lose no update");
      isEqual(counted.version, 12, "and wrote ten times");
    },
  },
  {
    id: "B7",
    title: "an update may correct a task that ended, but not its status",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      madeBy(await worker.create("strict", { id: id() }));
      const done = writtenBy(await worker.setStatus("strict", id(), "completed", { task: { result: "1" } }));
      const moved = { document: "{}", task: { status: "working" } } as const;
      isEqual(await worker.replace("strict", id(), null, moved), { kind: "terminal", record: done }, "it stays ended");
      isEqual(await worker.get("strict", id()), done, "and unchanged");
      await subject.advance(5);
      const corrected = { document: '{"note":1}', task: { ...taskOf(done), result: "2" } };
      const after = writtenBy(await worker.replace("strict", id(), done.version, corrected));
      isEqual([taskOf(after).status, taskOf(after).result], ["completed", "2"], "other fields may change");
      isEqual(after.settledAt, done.settledAt, "when it ended does not");
      const bare = writtenBy(await worker.replace("strict", id(), null, { document: "{}" }));
      isEqual([taskOf(bare).status, taskOf(bare).result], ["completed", null], "a status that is left out stays");
    },
  },
];

/** The update of a function, as a client far away does it. */
async function increment(worker: StoreApi, id: string, as: { readonly owner: string }): Promise<void> {
  for (;;) {
    const record = isThere(await worker.get("strict", id, as), "the task is there");
    const document = parsed(record.document) as { readonly count?: number };
    const next = JSON.stringify({ ...document, count: (document.count ?? 0) + 1 });
    const told = await worker.replace("strict", id, record.version, { document: next }, as);
    if (told?.kind === "written") return;
    isEqual(told?.kind, "stale", "a swap is done, or it was too late");
  }
}
