import type { StoredRecord } from "../record/record";
import type { StoreApi } from "../store-api/api";
import { isEqual, isThere, isTrue } from "./expect";
import { madeBy, parsed, settle, stage, taskOf, times, writtenBy } from "./stage";
import type { ContractCase } from "./subject";

/** The rest of the store with named setters: who waits hears each answer once, whenever and wherever it waits. */
export const heardAnswers: readonly ContractCase[] = [
  {
    id: "D10",
    title: "each answer reaches who waits, once and in order, also one who comes late, elsewhere",
    run: async (subject) => {
      const { worker, admin, id } = stage(subject);
      madeBy(await worker.create("none", { id: id() }));
      const asked = writtenBy(await worker.setQuestions("none", id(), '{"a":{},"b":{},"c":{}}'));
      const waiting = worker.events("none", id(), { after: asked.seq, waitMs: 30_000 });
      await settle(worker, "none");
      const first = writtenBy(await admin.resolve("none", id(), '{"b":{"n":1.0}}'));
      const heard = isThere(await waiting, "who waits is answered");
      const entry = heard.entries[0];
      isEqual(entry?.event, { kind: "answered", key: "b", response: '{"n":1.0}' }, "with the answer itself");
      isEqual([entry?.seq, entry?.version], [asked.seq + 1, first.version], "after it was stored");
      isEqual(heard.cursor, first.seq, "and learns from where to go on");
      const last = writtenBy(await admin.resolve("none", id(), '{"c":{"n":2},"a":{"n":3}}'));
      const rest = isThere(await worker.events("none", id(), { after: heard.cursor }), "the rest is there");
      isEqual(keysIn(rest.entries), ["c", "a"], "one for each answer, in their order");
      await subject.restart?.();
      const replayed = isThere(await admin.events("none", id(), { after: asked.seq }), "the log is there");
      isEqual(replayed.entries, [...heard.entries, ...rest.entries], "who comes late hears the very same");
      isEqual((await admin.events("none", id(), { after: last.seq }))?.entries, [], "and nothing twice");
      const all = isThere(await worker.events("none", id()), "the whole log is there");
      const seqs = all.entries.map(({ seq }) => seq);
      isEqual(
        seqs,
        times(last.seq, (n) => n + 1),
        "it has no gaps",
      );
    },
  },
  {
    id: "D11",
    title: "only what was open is heard of, and an answer given twice wakes nobody twice",
    run: async (subject) => {
      const { worker, admin, id } = stage(subject);
      madeBy(await worker.create("none", { id: id() }));
      writtenBy(await worker.setQuestions("none", id(), '{"a":{},"b":{}}'));
      await Promise.all(times(20, (n) => admin.resolve("none", id(), `{"a":{"from":${n}},"unknown":{}}`)));
      writtenBy(await admin.setStatus("none", id(), "completed"));
      writtenBy(await admin.resolve("none", id(), '{"b":{}}'), "unchanged");
      const { entries } = isThere(await worker.events("none", id()), "the log is there");
      isEqual(keysIn(entries), ["a"], "one answer of one question that was open");
      const answered = entries.find(({ event }) => event.kind === "answered")?.event;
      const stored = parsed(taskOf(await worker.get("none", id())).inputResponses) as { readonly a: unknown };
      const heard = answered?.kind === "answered" ? parsed(answered.response) : null;
      isEqual(heard, stored.a, "and it is the one that is stored");
    },
  },
  {
    id: "D12",
    title: "who stops waiting, or never looks at the answer, leaves nothing half done",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      const made = madeBy(await worker.create("none", { id: id() }));
      const quiet = await worker.events("none", id(), { after: made.seq, waitMs: 20 });
      isEqual(quiet, { entries: [], cursor: made.seq }, "a wait that ends empty says from where to go on");
      isEqual(await worker.get("none", id()), made, "and has changed nothing");
      const unheard = times(5, (n) => worker.merge("none", id(), { document: `{"a${n}":1,"b${n}":1}` }));
      const between = parsed(isThere(await worker.get("none", id()), "it is there").document) as object;
      for (const key of Object.keys(between)) {
        isTrue(`${key.replace("a", "b")}` in between, "a write is there as a whole or not at all");
      }
      await Promise.all(unheard);
    },
  },
  {
    id: "D13",
    title: "what a caller does to a record it was given changes nothing stored",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      const made = madeBy(await worker.create("none", { id: id(), document: '{"a":1}' }));
      const asItWas = JSON.stringify(made);
      deface(made);
      const got = isThere(await worker.get("none", id()), "it is there");
      isEqual(JSON.stringify(got), asItWas, "what create gave is a copy");
      deface(got);
      isEqual(JSON.stringify(await worker.get("none", id())), asItWas, "what get gave is a copy");
      const written = writtenBy(await worker.merge("none", id(), { document: '{"b":2}' }));
      const asWritten = JSON.stringify(written);
      deface(written);
      isEqual(JSON.stringify(await worker.get("none", id())), asWritten, "what a write gave is a copy");
    },
  },
  {
    id: "D14",
    title: "every caller meets the same one store, and its own records only",
    run: async (subject) => {
      const { worker, admin, clientA, clientB, id } = stage(subject);
      madeBy(await worker.create("none", { id: id() }));
      const apis: readonly StoreApi[] = [worker, admin, subject.api("worker"), subject.api("admin")];
      await Promise.all(
        times(20, (n) => (apis[n % 4] as StoreApi).merge("none", id(), { document: `{"k${n}":${n}}` })),
      );
      for (const api of apis) isEqual((await api.get("none", id()))?.version, 21, "all see what each one wrote");
      const own = madeBy(await clientA.create("default", { id: id() }));
      isEqual(await clientB.get("default", id()), null, "a client finds nothing of another");
      const other = madeBy(await clientB.create("default", { id: id() }));
      isTrue(own.owner !== other.owner, "the same id is a record of each");
      writtenBy(await clientB.cancel("default", id()));
      isEqual(await clientA.get("default", id()), own, "and what one does does not touch the other's");
    },
  },
];

const keysIn = (entries: readonly { readonly event: { readonly kind: string; readonly key?: string } }[]) =>
  entries.filter(({ event }) => event.kind === "answered").map(({ event }) => event.key);

/** As careless code would; a store may have frozen what it gives. */
function deface(record: StoredRecord): void {
  try {
    Object.assign(record, { version: 99, document: "{}" });
    Object.assign(record.task ?? {}, { status: "failed" });
  } catch (error) {
    isTrue(error instanceof TypeError, "a frozen record refuses");
  }
}
