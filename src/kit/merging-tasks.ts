import { isEqual, isRefused, isThere, isTrue } from "./expect";
import { collect, isAscending, madeBy, parsed, settle, stage, taskOf, times, writtenBy } from "./stage";
import type { ContractCase } from "./subject";

const MINUTE = 60_000;

/** Keys that look like ours, and values that a careless store would change. */
export const AWKWARD =
  '{"version":"mine","_meta":{"progressToken":1},"__proto__":{"polluted":true},"constructor":null,"":"no name",' +
  '"owner":"theirs","status":"theirs","task_id":7,"created_at":"yesterday","big":123456789012345678901234567890,' +
  '"one":1.0,"huge":1e400,"minus":-0,"text":"Grüße 世界 🎉 \u2028","escaped":"\\u0000 \\ud800 \\/ \\"",' +
  '"nested":{"list":[1,[2,[3,{}]],null,true],"empty":{}},"list":[]}';

/** A store whose updates merge, and whose caller makes the ids. */
export const mergingTasks: readonly ContractCase[] = [
  {
    id: "A1",
    title: "a task gets the id its caller chose, the status working and a time of creation",
    run: async (subject) => {
      const { clientA, id } = stage(subject);
      const record = madeBy(await clientA.create("default", { id: id(), document: '{"status":"done","task_id":"x"}' }));
      isEqual(record.id, id(), "the id is the caller's");
      isEqual(taskOf(record).status, "working", "a new task works");
      isTrue(Number.isInteger(record.createdAt), "createdAt is whole ms");
      isEqual([record.updatedAt, record.version], [record.createdAt, 1], "a new record was written once");
      const next = madeBy(await clientA.create("default", { id: id("next") }));
      isAscending([record.createdAt, next.createdAt], "times of creation are the store's clock");
      isEqual(await clientA.get("default", id()), record, "what create returned is what is stored");
    },
  },
  {
    id: "A2",
    title: "extra fields come back byte for byte, whatever they are called, also after a restart",
    run: async (subject) => {
      const { clientA, id } = stage(subject);
      const made = madeBy(await clientA.create("default", { id: id(), document: AWKWARD }));
      isEqual(made.document, AWKWARD, "create gives the document back");
      await subject.restart?.();
      isEqual((await clientA.get("default", id()))?.document, AWKWARD, "get gives the document back");
      const merged = writtenBy(await clientA.merge("default", id(), { document: '{"added":0.10}' }));
      const grown = `${AWKWARD.slice(0, -1)},"added":0.10}`;
      isEqual(merged.document, grown, "a merge leaves the text of all other members alone");
      await subject.restart?.();
      const { records } = await clientA.list("default", { limit: 100 });
      isEqual(records.find((record) => record.id === id())?.document, grown, "list gives the document back");
      isEqual(madeBy(await clientA.create("default", { id: id("empty") })).document, "{}", "no fields are no fields");
    },
  },
  {
    id: "A3",
    title: "the owner comes back with get and with each entry of a list",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      for (const namespace of ["lenient", "default"]) {
        const as = { owner: owner() };
        isEqual(madeBy(await worker.create(namespace, { id: id() }, as)).owner, owner(), "create keeps the owner");
        isEqual((await worker.get(namespace, id(), as))?.owner, owner(), "get gives the owner");
        const { records } = await worker.list(namespace, { ...as, limit: 100 });
        isEqual(records.find((record) => record.id === id())?.owner, owner(), "each entry of a list gives the owner");
      }
    },
  },
  {
    id: "A4",
    title: "an id in use is taken, unless the same call comes again under its idempotency key",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      const draft = { id: id(), document: '{"n":1}' };
      const first = madeBy(await worker.create("default", draft, { ...as, idempotencyKey: "key" }));
      isEqual((await worker.create("default", draft, as)).kind, "taken", "an id is used once");
      isEqual(
        (await worker.create("default", { id: id(), document: '{"n":2}' }, as)).kind,
        "taken",
        "and not replaced",
      );
      const again = await worker.create("default", draft, { ...as, idempotencyKey: "key" });
      isEqual(again, { kind: "existing", record: first }, "the same call again gives the same record");
      await isRefused(
        worker.create("default", { ...draft, document: '{"n":2}' }, { ...as, idempotencyKey: "key" }),
        ["conflict"],
        "a key is not used for another body",
      );
      const elsewhere = await worker.create("default", draft, { owner: owner("other"), idempotencyKey: "key" });
      isEqual(elsewhere.kind, "created", "another owner's ids and keys are its own");
      const parallel = await Promise.all(
        times(10, () => worker.create("default", { document: "{}" }, { ...as, idempotencyKey: "parallel" })),
      );
      const ids = parallel.map((created) => (created.kind === "taken" ? null : created.record.id));
      isEqual(new Set(ids).size, 1, "ten calls at once under one key make one record");
    },
  },
  {
    id: "A5",
    title: "a task is found right after create, by everybody who may see it, and an unknown one is not",
    run: async (subject) => {
      const { clientA, worker, admin, id, owner } = stage(subject);
      await Promise.all(
        times(20, async (n) => {
          const made = madeBy(await clientA.create("default", { id: id(`own-${n}`) }));
          isEqual(await clientA.get("default", made.id), made, "its own caller finds it");
        }),
      );
      const made = madeBy(await worker.create("strict", { id: id() }, { owner: owner() }));
      isEqual(await admin.get("strict", id(), { any: true }), made, "another caller finds it");
      isEqual(await worker.get("strict", id("unknown"), { any: true }), null, "an unknown id is not found");
    },
  },
  {
    id: "A6",
    title: "updates merge: parallel ones of other keys all survive, and a final status stays",
    run: async (subject) => {
      const { clientA, id } = stage(subject);
      madeBy(await clientA.create("default", { id: id(), document: '{"kept":1,"changed":1}' }));
      writtenBy(await clientA.merge("default", id(), { document: '{"changed":2}' }));
      await Promise.all(times(20, (n) => clientA.merge("default", id(), { document: `{"key${n}":${n}}` })));
      const all = Object.fromEntries(times(20, (n) => [`key${n}`, n]));
      const merged = isThere(await clientA.get("default", id()), "the task is there");
      isEqual(parsed(merged.document), { kept: 1, changed: 2, ...all }, "no update is lost");
      isEqual(merged.version, 22, "each write is one version");
      const waiting = writtenBy(await clientA.merge("default", id(), { task: { status: "input_required" } }));
      isEqual(taskOf(waiting).status, "input_required", "a status may be among what is merged");
      await isRefused(
        clientA.merge("default", id(), { task: { status: "paused" as "working" } }),
        ["invalid"],
        "a status that does not exist is refused",
      );
      const done = writtenBy(await clientA.merge("default", id(), { task: { status: "completed" } }));
      const told = await clientA.merge("default", id(), { task: { status: "working" }, document: '{"late":1}' });
      isEqual(told, { kind: "terminal", record: done }, "a final status stays, and nothing of that update is written");
      isEqual(await clientA.get("default", id()), done, "nothing is changed");
      isEqual(await clientA.merge("default", id("unknown"), { document: '{"a":1}' }), null, "unknown is not found");
    },
  },
  {
    id: "A7",
    title: "cancel ends a task that goes on, and tells of one that ended before",
    run: async (subject) => {
      const { clientA, id } = stage(subject);
      madeBy(await clientA.create("default", { id: id() }));
      const cancelled = writtenBy(await clientA.cancel("default", id()));
      isEqual(taskOf(cancelled).status, "cancelled", "it is cancelled");
      isEqual(await clientA.cancel("default", id()), { kind: "unchanged", record: cancelled }, "a second time is none");
      isEqual(await clientA.cancel("default", id("unknown")), null, "unknown is not found");
    },
  },
  {
    id: "A8",
    title: "delete lets waiters go, leaves nothing behind and may come twice",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      madeBy(await worker.create("default", { id: id() }, { ...as, maxRows: 1 }));
      const waitMs = 30_000;
      const began = Date.now();
      const waiting = worker.events("default", id(), { ...as, after: 1, waitMs });
      await settle(worker, "default", as);
      isTrue(await worker.remove("default", id(), as), "it was there");
      isEqual(await waiting, null, "who waits for its events is told that it is gone");
      isTrue(Date.now() - began < waitMs, "and does not wait to the end");
      isEqual(await worker.remove("default", id(), as), false, "a second time is harmless");
      isEqual(await worker.get("default", id(), as), null, "it is not found");
      isEqual(await worker.events("default", id(), as), null, "its log is gone");
      const { records } = await worker.list("default", as);
      isEqual(records, [], "it is not listed");
      const again = madeBy(await worker.create("default", { id: id() }, { ...as, maxRows: 1 }));
      isEqual([again.version, again.seq], [1, 1], "its place and its id are free, and its log begins anew");
    },
  },
  {
    id: "A9",
    title: "list gives whole records, newest first, by status and by page",
    run: async (subject) => {
      const { worker, id, owner } = stage(subject);
      const as = { owner: owner() };
      for (const n of times(5, String)) {
        madeBy(await worker.create("default", { id: id(n), document: `{"n":${n}}` }, as));
        await subject.advance(1);
      }
      writtenBy(await worker.setStatus("default", id("1"), "completed", { task: { result: '{"a":1}' } }, as));
      writtenBy(await worker.setStatus("default", id("3"), "completed", {}, as));
      const whole = await Promise.all(["4", "3", "2", "1", "0"].map((n) => worker.get("default", id(n), as)));
      isEqual((await worker.list("default", as)).records, whole, "a list has the very records, newest first");
      const done = await worker.list("default", { ...as, status: "completed" });
      isEqual(done.records, [whole[1], whole[3]], "a status filters");
      const pages: unknown[] = [];
      let cursor: string | null = null;
      do {
        const next = cursor === null ? {} : { cursor };
        const page = await worker.list("default", { ...as, limit: 2, ...next });
        isTrue(page.records.length <= 2, "a page is no longer than asked");
        pages.push(...page.records);
        cursor = page.nextCursor;
      } while (cursor !== null);
      isEqual(pages, whole, "the pages together are the list");
      await isRefused(
        worker.list("default", { ...as, cursor: "bm9uc2Vuc2U" }),
        ["invalid"],
        "a made-up cursor is none",
      );
    },
  },
  {
    id: "A10",
    title: "cleanup removes what is older, counts it, and touches nothing fresh",
    run: async (subject) => {
      const { admin, clientA, id, owner } = stage(subject);
      const as = { owner: owner() };
      const make = async (name: string) => madeBy(await admin.create("default", { id: id(name) }, as));
      for (const n of times(3, (n) => `old-${n}`)) {
        await make(n);
        writtenBy(await admin.setStatus("default", id(n), "completed", {}, as));
      }
      await subject.advance(10 * MINUTE);
      await make("working");
      await make("done");
      writtenBy(await admin.setStatus("default", id("done"), "completed", {}, as));
      isEqual(await collect(admin, "default", 5 * MINUTE, as), 3, "what is older goes, and is counted");
      isEqual(await collect(admin, "default", 5 * MINUTE, as), 0, "a second time there is nothing left");
      isEqual(await admin.get("default", id("old-0"), as), null, "what went is not found");
      const left = (await admin.list("default", as)).records.map((record) => record.id);
      isEqual(left.sort(), [id("done"), id("working")], "fresh ones are untouched");
      await isRefused(clientA.cleanup("default", 0), ["invalid", "insufficient_scope"], "it is no client's to call");
    },
  },
];
