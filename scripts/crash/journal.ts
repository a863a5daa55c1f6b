import type { Finding } from "./finding.ts";
import { RecordBook } from "./record-book.ts";
import { Registers } from "./register.ts";
import type { OwnerName } from "./server.ts";
import { WorkBook } from "./work-book.ts";

/** What the end of a task said, whichever way it ended. */
export type Outcome = { readonly kind: "result" | "error" | "cancelled"; readonly report: string | null };

/** A task that a client was told of, and all that clients were told of it. */
export type Acknowledged = {
  readonly id: string;
  readonly door: string;
  readonly owner: OwnerName;
  /** The errand that it is; null where that is not known. */
  note: string | null;
  /** ms; when the client knew of it. */
  readonly at: number;
  /** When it may be gone, as last told; null: never told. */
  expiresAt: number | null;
  /** As first seen in each view of a settled task; not one byte of it may change. */
  readonly settled: Map<string, string>;
  /** When somebody first saw it settled, by the clients' own clock; null: nobody has. */
  settledSeen: number | null;
  outcome: Outcome | null;
  /** What steps had recorded, as the task told it while it ran. */
  readonly steps: Map<string, string>;
  /** The questions that were open when last looked. */
  open: readonly string[];
  /** Question → every answer that was sent for it, and whether one of them was acknowledged. */
  readonly answers: Map<string, { readonly sent: string[]; acknowledged: boolean }>;
  /** Id → each message that was sent to it. */
  readonly said: Map<string, Said>;
  /** When a cancellation was acknowledged. */
  cancelled: number | null;
  /** It has expired, and was not found any more. */
  gone: boolean;
};

/** A message to a task. */
export type Said = {
  readonly text: string;
  /** The answer that it brings, to whichever question is open when it comes. */
  readonly answer?: string;
  /** When it was acknowledged, by `Journal.now`; null: nobody knows whether it came. */
  readonly heardAt: number | null;
};

export type Acknowledgement = {
  readonly door: string;
  readonly owner: OwnerName;
  /** The errand that it is; null where that is not known. */
  readonly note: string | null;
  readonly expiresAt?: number;
};

/** What a client saw of a task. */
export type Sight = {
  /** Which request showed it: the same request shows the same bytes, once the task is settled. */
  readonly view: string;
  readonly text: string;
  readonly status: "working" | "input_required" | "settled";
  /** When the request was sent, by `Journal.now`. */
  readonly sent: number;
  readonly expiresAt?: number;
  readonly open?: readonly string[];
  readonly outcome?: Outcome;
  readonly steps?: Readonly<Record<string, string>>;
  /** The messages of its whole history. */
  readonly said?: readonly { readonly messageId: string; readonly text: string }[];
};

const DAY_MS = 86_400_000;

/** The clients' own log: what they were told, and therefore hold the server to. */
export class Journal {
  readonly tasks = new Map<string, Acknowledged>();
  readonly findings: Finding[] = [];
  /** The notes of all errands that anybody ever sent. */
  readonly notes = new Set<string>();
  /** Errand → the one task that it became. */
  readonly tasksByNote = new Map<string, string>();
  readonly counts = new Map<string, number>();
  /** The same of the records of the store API, and of what workers report. */
  readonly records = new RecordBook(this);
  readonly work = new WorkBook();
  /** Documents that have one writer each, and tools that were declared: by name. */
  readonly documents = new Registers();
  readonly tools = new Registers();
  readonly #live = new Set<string>();

  /** Tells what came first: no two moments are the same. */
  readonly now = ticking();
  readonly #clock: () => number;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  /** Whatever is found again and again is told once. */
  found(about: string, says: string): void {
    if (!this.findings.some((finding) => finding.says === says)) this.findings.push({ about, says });
  }

  acknowledged(id: string, { door, owner, note, expiresAt }: Acknowledgement): Acknowledged {
    const first = note === null ? undefined : this.tasksByNote.get(note);
    if (first !== undefined && first !== id)
      this.found("one key, one task", `The errand ${note} became the task ${first}, and then the task ${id}.`);
    if (note !== null) this.tasksByNote.set(note, first ?? id);
    const task = this.tasks.get(id) ?? this.#add(id, door, owner);
    task.note ??= note;
    if (expiresAt !== undefined) task.expiresAt = expiresAt;
    return task;
  }

  saw(id: string, sight: Sight): void {
    const task = this.tasks.get(id);
    if (!task) return;
    const { view, text, status, sent, expiresAt, open, outcome, steps = {}, said } = sight;
    if (expiresAt !== undefined) task.expiresAt = expiresAt;
    if (open !== undefined) task.open = open;
    for (const [key, value] of Object.entries(steps)) this.#step(task, key, value);
    if (said) this.#heldTo(task, view, said, sent);
    if (status !== "settled") {
      if (task.settledSeen !== null && sent > task.settledSeen)
        this.found("settled is final", `The task ${id} was settled, and then ${view} showed it ${status}.`);
      if (task.cancelled !== null && sent > task.cancelled)
        this.found(
          "cancelled is final",
          `The cancellation of ${id} was acknowledged, and then ${view} showed it ${status}.`,
        );
      return;
    }
    task.open = [];
    this.#live.delete(id);
    if (task.settledSeen === null) this.count("settled");
    task.settledSeen ??= this.now();
    const before = task.settled.get(view);
    if (before === undefined) task.settled.set(view, text);
    else if (before !== text)
      this.found("settled is final", `The settled task ${id} read differently in ${view}: ${differing(before, text)}.`);
    if (outcome) this.#ended(task, view, outcome);
  }

  /** `now` is the server's time. */
  missing(id: string, view: string, now: number): void {
    const task = this.tasks.get(id);
    if (!task) return;
    // What was never told may be anything that a setting allows; no errand waits for a day.
    const expiresAt = task.expiresAt ?? task.at + DAY_MS;
    this.#live.delete(id);
    if (now >= expiresAt) {
      if (!task.gone) this.count("expired");
      task.gone = true;
      return;
    }
    this.found(
      "acknowledged is kept",
      `The task ${id} was acknowledged over ${task.door}, and ${view} does not find it.`,
    );
  }

  answering(id: string, key: string, answer: string): void {
    const task = this.tasks.get(id);
    if (!task) return;
    const answers = task.answers.get(key) ?? { sent: [], acknowledged: false };
    answers.sent.push(answer);
    task.answers.set(key, answers);
  }

  answered(id: string, key: string): void {
    const answers = this.tasks.get(id)?.answers.get(key);
    if (!answers) return;
    answers.acknowledged = true;
    this.count("answers acknowledged");
  }

  saying(id: string, messageId: string, said: Omit<Said, "heardAt">): void {
    this.tasks.get(id)?.said.set(messageId, { ...said, heardAt: null });
  }

  heard(id: string, messageId: string): void {
    const task = this.tasks.get(id);
    const said = task?.said.get(messageId);
    if (!task || !said) return;
    task.said.set(messageId, { ...said, heardAt: this.now() });
    this.count("messages acknowledged");
  }

  cancelled(id: string): void {
    const task = this.tasks.get(id);
    if (!task) return;
    task.cancelled ??= this.now();
    this.count("cancellations acknowledged");
  }

  /** Tasks nobody has seen settled yet. */
  live(owner?: OwnerName): readonly Acknowledged[] {
    const tasks = [...this.#live].map((id) => this.tasks.get(id) as Acknowledged);
    return owner === undefined ? tasks : tasks.filter((task) => task.owner === owner);
  }

  #add(id: string, door: string, owner: OwnerName): Acknowledged {
    const task: Acknowledged = {
      id,
      door,
      owner,
      note: null,
      at: this.#clock(),
      expiresAt: null,
      settled: new Map(),
      settledSeen: null,
      outcome: null,
      steps: new Map(),
      open: [],
      answers: new Map(),
      said: new Map(),
      cancelled: null,
      gone: false,
    };
    this.tasks.set(id, task);
    this.#live.add(id);
    this.count("acknowledged");
    this.count(`acknowledged ${door}`);
    return task;
  }

  #step(task: Acknowledged, key: string, value: string): void {
    const before = task.steps.get(key);
    if (before === undefined) this.count("steps seen");
    task.steps.set(key, before ?? value);
    if (before !== undefined && before !== value)
      this.found("steps are kept", `The step ${key} of the task ${task.id} recorded ${before}, and then ${value}.`);
  }

  /** What was acknowledged before anybody looked is there, once and as it was said. */
  #heldTo({ id, said }: Acknowledged, view: string, seen: NonNullable<Sight["said"]>, sent: number): void {
    for (const [messageId, { text, heardAt }] of said) {
      const times = seen.filter((one) => one.messageId === messageId);
      const isDue = heardAt !== null && heardAt < sent;
      if (times.length > 1 || (isDue && times.length === 0))
        this.found("messages are kept", `The message ${messageId} to ${id} is in ${view} ${times.length} times.`);
      const other = times.find((one) => one.text !== text);
      if (other)
        this.found(
          "messages are kept",
          `The message ${messageId} to ${id} was ${text}, and ${view} has ${other.text}.`,
        );
    }
  }

  #ended(task: Acknowledged, view: string, outcome: Outcome): void {
    const before = task.outcome;
    task.outcome = before ?? outcome;
    if (before && (before.kind !== outcome.kind || before.report !== outcome.report))
      this.found(
        "one outcome",
        `The task ${task.id} ended as ${JSON.stringify(before)}, but ${view} says ${JSON.stringify(outcome)}.`,
      );
  }
}

/** The first place where two texts part, with a little around it. */
function differing(before: string, after: string): string {
  let at = 0;
  while (at < before.length && before[at] === after[at]) at += 1;
  const around = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 30), at + 60));
  return `first ${around(before)}, then ${around(after)}`;
}

function ticking(): () => number {
  let last = 0;
  return () => (last = Math.max(performance.now(), last + 0.000_001));
}
