import { isEqual, isRefused, isThere, isTrue } from "./expect";
import { everyCall } from "./scoped-tasks";
import { collect, madeBy, parsed, settle, stage, taskOf, times, writtenBy } from "./stage";
import type { ContractCase } from "./subject";

const MINUTE = 60_000;

/** The rest of the store whose updates replace: how tasks end, and when they are over. */
export const endingTasks: readonly ContractCase[] = [
  {
    id: "B8",
    title: "cancel ends a task once, answers a second time with the same, and reaches who waits for an answer",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      madeBy(await worker.create("strict", { id: id() }, as));
      const asked = writtenBy(await worker.setQuestions("strict", id(), '{"q":{}}', as));
      const waiting = worker.events("strict", id(), { any: true, after: asked.seq, waitMs: 30_000 });
      await settle(worker, "strict");
      const cancelled = writtenBy(await worker.cancel("strict", id(), as));
      isEqual(taskOf(cancelled).status, "cancelled", "it is cancelled");
      const { entries } = isThere(await waiting, "who waits is told");
      isEqual(
        entries.map(({ event }) => event),
        [{ kind: "cancelled", status: "cancelled" }],
        "that it is cancelled",
      );
      isEqual(await worker.cancel("strict", id(), as), { kind: "unchanged", record: cancelled }, "again is no error");
      isEqual(await worker.cancel("strict", id("unknown"), as), null, "unknown is not found");
      madeBy(await worker.create("strict", { id: id("done") }, as));
      const done = writtenBy(await worker.setStatus("strict", id("done"), "failed", {}, as));
      isEqual(await worker.cancel("strict", id("done"), as), { kind: "unchanged", record: done }, "nor is it too late");
    },
  },
  {
    id: "B9",
    title: "a worker sets status and fields of a task that goes on, and of two who end it one wins",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const any = { any: true } as const;
      const draft = { id: id(), document: '{"kept":1}', task: { pollIntervalMs: 7 } };
      madeBy(await worker.create("strict", draft, { owner: owner() }));
      const changes = { task: { statusMessage: "half" }, document: '{"added":2}' };
      const half = writtenBy(await worker.setStatus("strict", id(), "working", changes, any));
      isEqual([taskOf(half).statusMessage, taskOf(half).pollIntervalMs], ["half", 7], "fields are merged");
      isEqual(parsed(half.document), { kept: 1, added: 2 }, "and so is the document");
      isEqual(await worker.setStatus("strict", id("unknown"), "failed", {}, any), null, "missing is told");
      for (const n of times(10, String)) {
        madeBy(await worker.create("strict", { id: id(n) }));
        const told = await Promise.all([
          worker.setStatus("strict", id(n), "completed", { task: { result: '"a"' } }, any),
          worker.setStatus("strict", id(n), "failed", { task: { error: '"b"' } }, any),
        ]);
        isEqual(told.map((one) => one?.kind).sort(), ["terminal", "written"], "one wins, and the other is told");
        const won = told.find((one) => one?.kind === "written")?.record;
        for (const one of told) isEqual(one?.record, won, "both are given the one that stands");
        isEqual(await worker.get("strict", id(n)), won, "nothing changes it after that");
      }
    },
  },
  {
    id: "B10",
    title: "an answer, a cancel and a completion at once are one after another: what has ended stays so",
    run: async (subject) => {
      const { worker, admin, id } = stage(subject);
      for (const n of times(20, String)) {
        madeBy(await worker.create("strict", { id: id(n) }));
        writtenBy(await worker.setQuestions("strict", id(n), '{"q":{}}'));
        const told = await Promise.all([
          admin.resolve("strict", id(n), '{"q":{"ok":true}}'),
          worker.setStatus("strict", id(n), "completed"),
          admin.cancel("strict", id(n)),
        ]);
        const last = isThere(await worker.get("strict", id(n)), "it is there");
        const ended = told.slice(1).filter((one) => one?.kind === "written");
        isEqual(ended.length, 1, "one of the two ended it");
        isEqual(taskOf(last).status, taskOf(ended[0]?.record ?? null).status, "and it stays as that one left it");
        const answers = told[0]?.kind === "written" ? 1 : 0;
        isEqual(last.version, 3 + answers, "an answer that came too late wrote nothing");
      }
    },
  },
  {
    id: "B11",
    title: "a ttl ends a task in any status, without one only ended tasks are collected, and the count is true",
    run: async (subject) => {
      const { admin, id, owner } = stage(subject);
      const as = { owner: owner() };
      const make = async (name: string, ttlMs: number | null) =>
        madeBy(await admin.create("default", { id: id(name), ttlMs }, as));
      isEqual((await make("at once", 0)).ttlMs, 0, "a ttl of 0 is kept");
      isEqual(await admin.get("default", id("at once"), as), null, "and is over at once");
      isEqual((await make("working", MINUTE)).ttlMs, MINUTE, "a short ttl is not raised");
      await make("ended", MINUTE);
      writtenBy(await admin.setStatus("default", id("ended"), "completed", {}, as));
      await make("longer", 60 * MINUTE);
      writtenBy(await admin.setStatus("default", id("longer"), "completed", {}, as));
      await make("unlimited", null);
      await make("unlimited ended", null);
      writtenBy(await admin.setStatus("default", id("unlimited ended"), "failed", {}, as));
      isEqual(await collect(admin, "default", 10 * MINUTE, as), 1, "what was over at once is collected");
      await subject.advance(2 * MINUTE);
      isEqual(await collect(admin, "default", 10 * MINUTE, as), 2, "a ttl counts in any status");
      await subject.advance(9 * MINUTE);
      isEqual(await collect(admin, "default", 10 * MINUTE, as), 1, "ended without a ttl: after the default");
      isEqual(await collect(admin, "default", 10 * MINUTE, as), 0, "each is counted once");
      const left = (await admin.list("default", as)).records.map((record) => record.id);
      isEqual(left.sort(), [id("longer"), id("unlimited")], "the others stay");
      await isRefused(admin.create("default", { ttlMs: -1 }, as), ["invalid"], "a ttl below 0 is none");
    },
  },
  {
    id: "B12",
    title: "what is over is gone for every call, before anything collects it",
    run: async (subject) => {
      const { worker, admin, id, owner } = stage(subject);
      const as = { owner: owner() };
      const draft = { id: id(), ttlMs: MINUTE };
      madeBy(await worker.create("lenient", draft, as));
      madeBy(await admin.create("default", draft, { ...as, maxRows: 1 }));
      const waiting = worker.events("lenient", id(), { ...as, after: 1, waitMs: 10 });
      isTrue((await worker.get("lenient", id(), as)) !== null, "until then it is there");
      isEqual((await waiting)?.entries, [], "and waits are quiet");
      await subject.advance(MINUTE);
      for (const call of everyCall(worker, "lenient")) {
        isEqual(await call(id(), as), await call(id("missing"), as), "it reads as missing");
      }
      const { records } = await worker.list("lenient", { ...as, limit: 100 });
      isTrue(!records.some((record) => record.id === id()), "it is not listed");
      const again = madeBy(await admin.create("default", draft, { ...as, maxRows: 1 }));
      isEqual(again.version, 1, "its id and its place are free");
    },
  },
];
