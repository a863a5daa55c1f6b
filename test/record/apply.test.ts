import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelOf, stepOf, type Act } from "../../src/kit/model";
import { applyCommand, createRecord } from "../../src/record/apply";
import type { RecordCommand } from "../../src/record/command";
import type { RecordStatus, StoredRecord, TaskFields } from "../../src/record/record";

const NOW = 1_000;

const blank: TaskFields = {
  status: "working",
  statusMessage: null,
  pollIntervalMs: null,
  inputRequests: "{}",
  inputResponses: "{}",
  result: null,
  error: null,
};

function record(task: Partial<TaskFields> | null = {}, over: Partial<StoredRecord> = {}): StoredRecord {
  const content = { task: task && { ...blank, ...task }, document: "{}", ttlMs: null };
  return { ...createRecord({ id: "id", namespace: "default", owner: "o" }, content, NOW).record, ...over };
}

const apply = (before: StoredRecord, command: RecordCommand, now = NOW + 1) => applyCommand(before, command, now);

const FINAL: readonly RecordStatus[] = ["completed", "failed", "cancelled"];
const ALL: readonly RecordStatus[] = ["working", "input_required", ...FINAL];

describe("createRecord", () => {
  it("is the first version, with one line in its log", () => {
    const content = { task: blank, document: '{"a":1.0}', ttlMs: 5 };
    const { record, entries } = createRecord({ id: "id", namespace: "default", owner: null }, content, NOW);
    expect(record).toMatchObject({ version: 1, seq: 1, createdAt: NOW, updatedAt: NOW, settledAt: null, ttlMs: 5 });
    expect(entries).toEqual([{ seq: 1, at: NOW, version: 1, event: { kind: "created", status: "working" } }]);
  });

  it("knows when a record that begins with a final status ended", () => {
    expect(record({ status: "failed" }).settledAt).toBe(NOW);
  });
});

describe("any command", () => {
  const keys = fc.constantFrom("a", "b", "c");
  const notes = fc.nat({ max: 1_000_000 }).map(String);
  const statuses = fc.constantFrom(...ALL);
  const act: fc.Arbitrary<Act> = fc.oneof(
    fc.record({ kind: fc.constant("update" as const), version: fc.nat({ max: 12 }), note: notes }),
    fc.record({ kind: fc.constant("merge" as const), note: notes, status: statuses }),
    fc.record({ kind: fc.constant("merge" as const), note: notes }),
    fc.record({ kind: fc.constant("set_status" as const), note: notes, status: fc.constantFrom(...ALL.slice(0, 4)) }),
    fc.record({ kind: fc.constant("ask" as const), note: notes, key: keys }),
    fc.record({ kind: fc.constant("ask" as const), note: notes, key: keys }),
    fc.record({ kind: fc.constant("answer" as const), note: notes, key: keys }),
    fc.record({ kind: fc.constant("answer" as const), note: notes, key: keys }),
    fc.constant({ kind: "cancel" as const }),
  );

  it("comes to what the model of the contract kit says, and keeps its promises", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(act, fc.integer({ min: -50, max: 50 })), { maxLength: 25 }), (acts) => {
        let before = record();
        let now = NOW;
        for (const [n, [one, drift]] of acts.entries()) {
          now += drift;
          const unique = "note" in one ? { ...one, note: `${n}-${one.note}` } : one;
          const applied = apply(before, commandOf(unique, before), now);
          const step = stepOf(modelOf(before), unique);
          expect(applied.kind).toBe(step.kind);
          expect(modelOf(applied.record)).toEqual(step.after);
          expect(applied.entries.map(({ event }) => event)).toEqual(step.event ? [step.event] : []);
          if (applied.kind !== "written") expect(applied.record).toBe(before);
          else expectGrowth(before, applied);
          before = applied.record;
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a final status", () => {
  it.each(FINAL)("%s is left by no command", (status) => {
    const done = record({ status, inputRequests: '{"q":{}}' });
    for (const next of ALL) {
      expect(apply(done, { kind: "set_status", status: next, changes: {} })).toEqual(refused("terminal", done));
      if (next === status) continue;
      const task = { status: next, result: "2" };
      expect(apply(done, { kind: "merge", version: null, changes: { task } })).toEqual(refused("terminal", done));
      const content = { task: { ...blank, ...task }, document: "{}" };
      expect(apply(done, { kind: "replace", version: null, content })).toEqual(refused("terminal", done));
    }
    for (const command of [
      { kind: "cancel" },
      { kind: "set_questions", requests: '{"q":{"new":1}}' },
      { kind: "resolve", responses: '{"q":{}}' },
    ] as const) {
      expect(apply(done, command)).toEqual(refused("unchanged", done));
    }
  });

  it("lets other fields be corrected, and remembers when it came", () => {
    const done = record({ status: "completed", result: "1" });
    const merged = apply(done, { kind: "merge", version: 1, changes: { task: { result: "2" }, ttlMs: 9 } });
    expect(merged).toMatchObject({ kind: "written", record: { task: { result: "2" }, ttlMs: 9, settledAt: NOW } });
    const { status: _, ...fields } = blank;
    const replaced = apply(done, { kind: "replace", version: 1, content: { task: fields, document: '{"a":1}' } });
    expect(replaced).toMatchObject({ kind: "written", record: { task: { status: "completed", result: null } } });
  });

  it("is told as cancelled, whichever command cancelled", () => {
    for (const command of [
      { kind: "cancel" },
      { kind: "set_status", status: "cancelled", changes: {} },
      { kind: "merge", version: null, changes: { task: { status: "cancelled" } } },
      { kind: "replace", version: null, content: { task: { ...blank, status: "cancelled" }, document: "{}" } },
    ] as const) {
      const { record: after, entries } = apply(record(), command);
      expect(entries.map(({ event }) => event)).toEqual([{ kind: "cancelled", status: "cancelled" }]);
      expect(after.settledAt).toBe(NOW + 1);
    }
  });
});

describe("replace", () => {
  it("takes the place of everything but the status and the ttl that it does not name", () => {
    const before = record({ status: "input_required", statusMessage: "x", inputRequests: '{"q":1}' }, { ttlMs: 7 });
    const { status: _, ...fields } = blank;
    const { record: after } = apply(before, { kind: "replace", version: 1, content: { task: fields, document: "{}" } });
    expect(after).toMatchObject({ task: { ...blank, status: "input_required" }, ttlMs: 7 });
  });

  it("is a write even when it is the same again, as every save is a revision", () => {
    const document = record(null);
    const told = apply(document, { kind: "replace", version: null, content: { task: null, document: "{}" } });
    expect(told).toMatchObject({ kind: "written", record: { version: 2, task: null } });
    expect(told.entries.map(({ event }) => event)).toEqual([{ kind: "written", status: null }]);
  });

  it("never takes a task's fields away", () => {
    const told = apply(record(), { kind: "replace", version: null, content: { task: null, document: "{}" } });
    expect(told.record.task).toEqual(blank);
  });
});

describe("merge", () => {
  it("leaves the text of what it does not name alone", () => {
    const before = record({}, { document: '{ "big":12345678901234567890,"__proto__":{"a":1.0} }' });
    const { record: after } = apply(before, {
      kind: "merge",
      version: null,
      changes: { document: '{"__proto__":{"b":2.0},"new":1e400}' },
    });
    expect(after.document).toBe('{"big":12345678901234567890,"__proto__":{"b":2.0},"new":1e400}');
  });

  it("of nothing, or of what is so already, is none", () => {
    const before = record({ statusMessage: "m" }, { document: '{ "a" : 1.0 }', ttlMs: 5 });
    for (const changes of [
      {},
      { task: {} },
      { task: { statusMessage: "m" } },
      { document: '{"a":1.0}' },
      { ttlMs: 5 },
    ]) {
      expect(apply(before, { kind: "merge", version: null, changes })).toEqual(refused("unchanged", before));
    }
  });

  it("compares the version first", () => {
    const done = record({ status: "completed" });
    const changes = { task: { status: "working" } } as const;
    expect(apply(done, { kind: "merge", version: 2, changes })).toEqual(refused("stale", done));
  });
});

describe("questions and answers", () => {
  it("one entry tells of all that is asked at once, and one of each answer, in order", () => {
    const asked = apply(record(), { kind: "set_questions", requests: '{"b":{"n":1.0},"a":{}}' });
    expect(asked.entries).toEqual([{ seq: 2, at: NOW + 1, version: 2, event: { kind: "asked", keys: ["b", "a"] } }]);
    const told = apply(asked.record, { kind: "resolve", responses: '{"x":{},"a":{"v":1.0},"b":{"v":2}}' });
    expect(told.entries.map(({ seq, version, event }) => [seq, version, event])).toEqual([
      [3, 3, { kind: "answered", key: "a", response: '{"v":1.0}' }],
      [4, 3, { kind: "answered", key: "b", response: '{"v":2}' }],
    ]);
    expect(told.record).toMatchObject({ version: 3, seq: 4, task: { status: "working", inputRequests: "{}" } });
  });

  it("asking the same again is nothing, so that a lost answer can be asked for again", () => {
    const { record: asked } = apply(record(), { kind: "set_questions", requests: '{"a":{"n":1}}' });
    expect(apply(asked, { kind: "set_questions", requests: '{"a":{"n":1}}' })).toEqual(refused("unchanged", asked));
    expect(apply(asked, { kind: "set_questions", requests: "{}" })).toEqual(refused("unchanged", asked));
    expect(apply(record(), { kind: "set_questions", requests: "{}" }).record.task?.status).toBe("working");
  });

  it("a key that looks like a part of every object is a key", () => {
    const { record: asked } = apply(record(), { kind: "set_questions", requests: '{"__proto__":{},"constructor":{}}' });
    const { record: after } = apply(asked, { kind: "resolve", responses: '{"toString":1,"__proto__":{"a":1}}' });
    expect(after.task?.inputRequests).toBe('{"constructor":{}}');
    expect(after.task?.inputResponses).toBe('{"__proto__":{"a":1}}');
  });
});

describe("a document", () => {
  it("has no status to set, and nothing to ask, answer or cancel", () => {
    const document = record(null);
    for (const command of [
      { kind: "set_status", status: "completed", changes: {} },
      { kind: "set_questions", requests: '{"a":{}}' },
      { kind: "resolve", responses: '{"a":{}}' },
      { kind: "cancel" },
    ] as const) {
      expect(apply(document, command)).toEqual(refused("unchanged", document));
    }
  });
});

describe("maxBytes", () => {
  it.each([
    ["é€💥", 2 + 3 + 4],
    ["plain", 5],
    ["\u07ff\u0800\uffff", 2 + 3 + 3],
  ])("counts %j as UTF-8, and refuses one byte too much", (text, bytes) => {
    const before = record();
    const changes = { task: { statusMessage: text } };
    const fixed = Buffer.byteLength("{}{}{}working");
    const fits = apply(before, { kind: "merge", version: null, changes, maxBytes: fixed + bytes });
    expect(fits.kind).toBe("written");
    const told = apply(before, { kind: "merge", version: null, changes, maxBytes: fixed + bytes - 1 });
    expect(told).toEqual(refused("too_large", before));
  });
});

const refused = (kind: string, record: StoredRecord) => ({ kind, record, entries: [] });

function expectGrowth(before: StoredRecord, { record, entries }: ReturnType<typeof applyCommand>): void {
  expect(record.version).toBe(before.version + 1);
  expect(record.updatedAt).toBeGreaterThanOrEqual(before.updatedAt);
  expect(record.seq).toBe(before.seq + entries.length);
  expect(entries.every((entry) => entry.version === record.version && entry.at === record.updatedAt)).toBe(true);
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, n) => before.seq + 1 + n));
  const isFinal = record.task !== null && FINAL.includes(record.task.status);
  expect(record.settledAt !== null).toBe(isFinal);
  if (before.settledAt !== null) expect(record.settledAt).toBe(before.settledAt);
}

/** The command by which a store is told of an act of the model. */
function commandOf(act: Act, before: StoredRecord): RecordCommand {
  switch (act.kind) {
    case "get":
      throw new Error("Reading is no command.");
    case "update": {
      const document = JSON.stringify({ ...(JSON.parse(before.document) as object), [act.note]: 1 });
      const task = { ...(before.task as TaskFields), statusMessage: act.note };
      return { kind: "replace", version: act.version, content: { task, document } };
    }
    case "merge": {
      const task = act.status === undefined ? {} : { task: { status: act.status } };
      return { kind: "merge", version: null, changes: { ...task, document: JSON.stringify({ [act.note]: 1 }) } };
    }
    case "set_status":
      return { kind: "set_status", status: act.status, changes: { task: { statusMessage: act.note } } };
    case "ask":
      return { kind: "set_questions", requests: JSON.stringify({ [act.key]: { asks: act.note } }) };
    case "answer":
      return { kind: "resolve", responses: JSON.stringify({ [act.key]: { says: act.note } }) };
    case "cancel":
      return { kind: "cancel" };
  }
}
