import { isEqual, isThere, isTrue } from "./expect";
import { madeBy, parsed, stage, taskOf, times, writtenBy } from "./stage";
import type { ContractCase, Subject } from "./subject";

const MINUTE = 60_000;

/** A store with a setter for each thing that happens to a task, as an adapter calls them. */
export const namedSetters: readonly ContractCase[] = [
  {
    id: "D1",
    title: "a task keeps the poll interval it was made with",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      for (const pollIntervalMs of [1_000, 250, null]) {
        const name = id(String(pollIntervalMs));
        madeBy(await worker.create("none", { id: name, task: { pollIntervalMs } }));
      }
      for (const pollIntervalMs of [1_000, 250, null]) {
        const record = await worker.get("none", id(String(pollIntervalMs)));
        isEqual(taskOf(record).pollIntervalMs, pollIntervalMs, "a later default changes no earlier task");
      }
    },
  },
  {
    id: "D2",
    title: "a task keeps the ttl it was made with, and a ttl of 0 never ends it where that is the rule",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      madeBy(await worker.create("none", { id: id("short"), ttlMs: MINUTE }));
      isEqual(madeBy(await worker.create("none", { id: id("zero"), ttlMs: 0 })).ttlMs, null, "0 is unlimited");
      isEqual(madeBy(await worker.create("none", { id: id("null"), ttlMs: null })).ttlMs, null, "null is unlimited");
      await subject.advance(MINUTE);
      isEqual(await worker.get("none", id("short")), null, "a ttl ends its task");
      for (const name of ["zero", "null"]) isThere(await worker.get("none", id(name)), "the others go on");
    },
  },
  {
    id: "D3",
    title: "a task made without an id gets a unique one, works, and is found from elsewhere",
    run: async (subject) => {
      const { worker, admin } = stage(subject);
      const made = await Promise.all(times(200, async () => madeBy(await worker.create("none", {}))));
      isEqual(new Set(made.map(({ id }) => id)).size, 200, "no id is given twice");
      await subject.restart?.();
      for (const record of made.slice(0, 20)) {
        isEqual(await admin.get("none", record.id), record, "it is stored before it is answered");
        isEqual([taskOf(record).status, record.updatedAt], ["working", record.createdAt], "it works since it was made");
      }
    },
  },
  {
    id: "D4",
    title: "get gives nothing for what is unknown or over, and never throws for it",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      madeBy(await worker.create("none", { id: id(), ttlMs: MINUTE }));
      await subject.advance(MINUTE);
      for (const unknown of [id(), id("unknown"), "x".repeat(43), "💥", "x".repeat(513)]) {
        isEqual(await worker.get("none", unknown), null, "there is nothing");
      }
    },
  },
  {
    id: "D5",
    title: "completed keeps its first result, of any JSON; after an end it means nothing",
    run: (subject) => endsOnce(subject, "completed", "result"),
  },
  {
    id: "D6",
    title: "failed keeps its first error, of any JSON; after an end it means nothing",
    run: (subject) => endsOnce(subject, "failed", "error"),
  },
  {
    id: "D7",
    title: "of 50 who cancel at once exactly one did",
    run: async (subject) => {
      const { worker, admin, id } = stage(subject);
      madeBy(await worker.create("none", { id: id() }));
      const told = await Promise.all(times(50, (n) => (n % 2 ? worker : admin).cancel("none", id())));
      isEqual(told.filter((one) => one?.kind === "written").length, 1, "one made the change");
      isEqual(told.filter((one) => one?.kind === "unchanged").length, 49, "the others are told that there was none");
      isEqual(await worker.cancel("none", id("unknown")), null, "unknown is not found");
    },
  },
  {
    id: "D8",
    title: "questions join what is open: 50 at once are 50, the same key takes the other's place",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      madeBy(await worker.create("none", { id: id() }));
      await Promise.all(times(50, (n) => worker.setQuestions("none", id(), `{"q${n}":{"n":${n}}}`)));
      const asked = taskOf(await worker.get("none", id()));
      const all = Object.fromEntries(times(50, (n) => [`q${n}`, { n }]));
      isEqual([asked.status, parsed(asked.inputRequests)], ["input_required", all], "none is lost");
      const again = writtenBy(await worker.setQuestions("none", id(), '{"q7":{"n":"new"}}'));
      isEqual(parsed(taskOf(again).inputRequests), { ...all, q7: { n: "new" } }, "the newest counts");
      const ended = writtenBy(await worker.cancel("none", id()));
      const late = await worker.setQuestions("none", id(), '{"late":{}}');
      isEqual(late, { kind: "unchanged", record: ended }, "after an end nothing is asked");
      isEqual(await worker.setQuestions("none", id("unknown"), '{"q":{}}'), null, "unknown is told");
    },
  },
  {
    id: "D9",
    title: "answers close their questions, and with the last one the task works again",
    run: async (subject) => {
      const { worker, id } = stage(subject);
      madeBy(await worker.create("none", { id: id() }));
      const idle = isThere(await worker.get("none", id()), "it is there");
      isEqual(await worker.resolve("none", id(), '{"q":{}}'), { kind: "unchanged", record: idle }, "nothing is open");
      const questions = Object.fromEntries(times(20, (n) => [`q${n}`, {}]));
      writtenBy(await worker.setQuestions("none", id(), JSON.stringify(questions)));
      const one = writtenBy(await worker.resolve("none", id(), '{"q0":{"a":0},"unknown":{}}'));
      const open = parsed(taskOf(one).inputRequests) as object;
      isEqual([taskOf(one).status, Object.keys(open).length], ["input_required", 19], "one is answered");
      isEqual(parsed(taskOf(one).inputResponses), { q0: { a: 0 } }, "and only what was asked");
      const again = await worker.resolve("none", id(), '{"q0":{"a":"other"}}');
      isEqual(again, { kind: "unchanged", record: one }, "an answer is taken once");
      await Promise.all(times(20, (n) => worker.resolve("none", id(), `{"q${n}":{"a":${n}}}`)));
      const done = taskOf(await worker.get("none", id()));
      isEqual([done.status, done.inputRequests], ["working", "{}"], "with the last answer it works again");
      const answers = Object.fromEntries(times(20, (n) => [`q${n}`, { a: n }]));
      isEqual(parsed(done.inputResponses), answers, "every answer is kept");
      writtenBy(await worker.setQuestions("none", id(), '{"q":{}}'));
      const ended = writtenBy(await worker.setStatus("none", id(), "failed"));
      isEqual(await worker.resolve("none", id(), '{"q":{}}'), { kind: "unchanged", record: ended }, "ended is ended");
      isEqual(await worker.resolve("none", id("unknown"), "{}"), null, "unknown is told");
    },
  },
];

/** The first end stays, with what it came to. */
async function endsOnce(subject: Subject, status: "completed" | "failed", field: "result" | "error"): Promise<void> {
  const { worker, id } = stage(subject);
  const values = ['{"content":[],"n":1.0}', "[1,2]", '"text"', "0", "true", "12345678901234567890"];
  for (const value of values) {
    const name = id(value);
    madeBy(await worker.create("none", { id: name }));
    const ended = writtenBy(await worker.setStatus("none", name, status, { task: { [field]: value } }));
    isEqual([taskOf(ended).status, taskOf(ended)[field]], [status, value], "it ended with what was given");
    const again = await worker.setStatus("none", name, status, { task: { [field]: '"second"' } });
    isEqual(again, { kind: "terminal", record: ended }, "the first one stays");
    isTrue(ended.settledAt !== null, "and is known to have ended");
  }
  madeBy(await worker.create("none", { id: id() }));
  const cancelled = writtenBy(await worker.cancel("none", id()));
  const late = await worker.setStatus("none", id(), status, { task: { [field]: '"late"' } });
  isEqual(late, { kind: "terminal", record: cancelled }, "cancelled stays cancelled");
  isEqual(taskOf(cancelled)[field], null, "and came to nothing");
  isEqual(await worker.setStatus("none", id("unknown"), status), null, "unknown is told");
}
