// Storage and a journal as a run leaves them where nothing went wrong; each test breaks one thing in it.
import type { Evidence } from "../../scripts/crash/audit/evidence";
import type { IndexRow, RecordOnDisk, Storage, StoredTask } from "../../scripts/crash/audit/storage";
import { Journal } from "../../scripts/crash/journal";
import type { LogEntry } from "../../src/task/task";

export const OWNER = "owner-a";
export const INDEX = '["tasks","owner-a"]';
/** When all of it happened; and a day later its tasks expire. */
export const AT = 1_000_000;
const TTL = 86_400_000;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export type Scene = {
  readonly journal: Journal;
  readonly tasks: Map<string, Mutable<StoredTask>>;
  readonly rows: Mutable<IndexRow>[];
  readonly tally: { stored: number; live: number };
  readonly directory: Map<string, number>;
  readonly remains: string[];
  readonly records: Mutable<RecordOnDisk>[];
  readonly queued: { queue: string; id: string }[];
  /** As it was when it was last looked at. */
  readonly before: Storage & { readonly tasks: Map<string, StoredTask> };
  now: number;
  maxLive: number;
  evidence(): Evidence;
};

/** A task that has ended, with a step and an answer, and one that sleeps. */
export function scene(): Scene {
  const journal = new Journal(() => AT);
  const tasks = new Map([endedTask("ended"), sleepingTask("sleeping")].map((task) => [task.id, task]));
  const rows = [...tasks.values()].map(rowOf);
  journal.notes.add("note of ended").add("note of sleeping");
  for (const id of tasks.keys())
    journal.acknowledged(id, { door: "a door", owner: OWNER, note: `note of ${id}`, expiresAt: AT + TTL });
  journal.saw("ended", { ...working, steps: { one: "first" } });
  journal.answering("ended", "sure", '{"action":"accept"}');
  journal.answered("ended", "sure");
  journal.saw("ended", { ...settled, outcome: { kind: "result", report: reportOf("ended") } });
  const scene: Scene = {
    journal,
    tasks,
    rows,
    tally: { stored: 2, live: 1 },
    directory: new Map([[INDEX, AT]]),
    remains: [],
    records: [],
    queued: [],
    before: {
      tasks: new Map([...tasks].map(([id, task]) => [id, { ...task }])),
      remains: [],
      indexes: [],
      records: [],
      queued: [],
      directory: new Map(),
    },
    now: AT + 10,
    maxLive: 2,
    evidence: () => {
      const { now, maxLive, directory, remains, records, queued, tally, before } = scene;
      return {
        storage: { tasks, remains, directory, indexes: [{ name: INDEX, rows, tally }], records, queued },
        before,
        journal,
        now,
        maxLive,
      };
    },
  };
  return scene;
}

export const working = { view: "a view", text: "working", status: "working", sent: -Infinity } as const;
export const settled = { view: "a view", text: "settled", status: "settled", sent: -Infinity } as const;

export const reportOf = (id: string): string =>
  JSON.stringify({ id, note: `note of ${id}`, steps: { one: "first" }, answers: { sure: { action: "accept" } } });

export type Event = readonly [event: LogEntry["event"], phase: LogEntry["phase"]];

/** The log of a task from events, each with the phase it led to. */
export const logOf = (...events: readonly Event[]): LogEntry[] =>
  events.map(([event, phase], at) => ({ seq: at + 1, at: AT + at, event, phase, statusMessage: null }));

const slots = (values: Readonly<Record<string, string>>): ReadonlyMap<string, readonly string[]> =>
  new Map(Object.entries(values).map(([slot, text]) => [JSON.stringify(slot.split(" ")), [text]]));

function endedTask(id: string): Mutable<StoredTask> {
  const outcome = { kind: "result", result: "", isError: false } as const;
  const request = { method: "elicitation/create", params: {} } as const;
  const asked = { authorKey: "sure", occurrence: 1, request, deadline: AT + 9, key: "sure", askedAt: AT } as const;
  return {
    id,
    facts: {
      ...factsOf(id),
      version: 6,
      stage: { phase: "settled", outcome, settledAt: AT + 5 },
      questions: [{ ...asked, state: { kind: "answered", at: AT + 3, answer: "" } }],
    },
    values: slots({
      arguments: JSON.stringify({ note: `note of ${id}` }),
      "step one": '"first"',
      "answer sure": '{"action":"accept"}',
      outcome: JSON.stringify({ content: [{ type: "text", text: reportOf(id) }] }),
    }),
    log: logOf(
      ["created", "submitted"],
      ["started", "working"],
      ["stepped", "working"],
      ["asked", "input_required"],
      ["answered", "working"],
      ["settled", "settled"],
    ),
    alarm: null,
  };
}

function sleepingTask(id: string): Mutable<StoredTask> {
  const until = AT + 3_600_000;
  return {
    id,
    facts: {
      ...factsOf(id),
      version: 3,
      stage: { phase: "working", activity: { kind: "sleeping", until } },
      questions: [],
    },
    values: slots({ arguments: JSON.stringify({ note: `note of ${id}` }) }),
    log: logOf(["created", "submitted"], ["started", "working"], ["slept", "working"]),
    alarm: until,
  };
}

const factsOf = (id: string) => ({ id, owner: OWNER, tool: "errand", createdAt: AT, ttlMs: TTL });

const rowOf = ({ id, facts: { version, stage } }: StoredTask): Mutable<IndexRow> => ({
  id,
  phase: stage.phase,
  outcome: stage.phase === "settled" ? stage.outcome.kind : null,
  version,
  due: AT + 60_000,
  mark: null,
});
