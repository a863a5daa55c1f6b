import type { RecordEntry, StoredRecord } from "../record/record";
import type { As, StoreApi } from "../store-api/api";
import { isEqual, isThere, isTrue, Unmet } from "./expect";
import { modelOf, stepOf, type Act, type Model, type Step } from "./model";
import { randomFrom, type Random } from "./random";
import { isAscending, madeBy, stage, taskOf, times } from "./stage";
import type { Subject } from "./subject";

export type Interleavings = { readonly runs: number; readonly seed: number };

/** What one call came to; `floor` is the newest version that anybody had been shown when it began. */
type Seen = { readonly act: Act; readonly kind: Step["kind"]; readonly record: StoredRecord; readonly floor: number };

/** One way to the record. */
type Door = { readonly api: StoreApi; readonly as: As };

/** One record, and all that was seen of it. */
type Scene = {
  readonly namespace: string;
  readonly id: string;
  readonly doors: readonly [Door, Door, Door];
  readonly seen: Seen[];
  floor: number;
};

const AT_ONCE = 8;
const QUESTIONS = ["a", "b", "c"];

/**
 * Many callers at one record at once, again and again: whatever they are told must fit one order of all they did, in
 * which nothing is lost, what has ended stays so, and each answer is heard once. The same seed makes the same choices.
 */
export async function randomInterleavings(subject: Subject, { runs, seed }: Interleavings): Promise<void> {
  for (let first = 0; first < runs; first += AT_ONCE) {
    await Promise.all(
      times(Math.min(AT_ONCE, runs - first), async (n) => {
        try {
          await interleave(subject, first + n, randomFrom(seed + (first + n) * 7_919));
        } catch (error) {
          if (!(error instanceof Unmet)) throw error;
          throw new Unmet(`Run ${first + n} of the interleavings with the seed ${seed}: ${error.message}`);
        }
      }),
    );
  }
}

async function interleave(subject: Subject, run: number, random: Random): Promise<void> {
  const { made, scene } = await sceneFor(subject, run);
  const hearing = hear(scene);
  // A failure below must not leave the waiter's own unhandled.
  hearing.catch(() => {});
  const callers = times(3 + random.whole(4), () => times(1 + random.whole(4), () => planOne(random)));
  await Promise.all(
    callers.map(async (plans, n) => {
      for (const [turn, plan] of plans.entries()) {
        await pause(plan);
        await perform(scene, scene.doors[plan.door] as Door, plan.choice, `${n}.${turn}`);
      }
    }),
  );
  const [door] = scene.doors;
  await observe(scene, { kind: "cancel" }, () => door.api.cancel(scene.namespace, scene.id, door.as));
  const last = isThere(await door.api.get(scene.namespace, scene.id, door.as), "the record is there in the end");
  const log = isThere(await door.api.events(scene.namespace, scene.id, { ...door.as, after: 0 }), "its log is there");
  const steps = inOrder(made, scene.seen);
  isEqual(modelOf(last), (steps.at(-1) as Step).after, "the last write is what is stored");
  isEqual(
    log.entries.map(({ seq, version, event }) => ({ seq, version, event })),
    steps.map(({ event }, n) => ({ seq: n + 1, version: n + 1, event })),
    "the log tells every write once, in order",
  );
  const heard = await hearing;
  isEqual(heard, log.entries.slice(0, heard.length), "who waited heard the same");
}

/** Every namespace of tasks in turn; now and then a client's own record, which a worker works on for it. */
async function sceneFor(subject: Subject, run: number): Promise<{ made: StoredRecord; scene: Scene }> {
  const { clientA, worker, admin, id, owner } = stage(subject);
  const isOwn = run % 20 === 0;
  const namespace = isOwn ? "default" : (["default", "strict", "lenient", "none"][run % 4] as string);
  const made = madeBy(
    isOwn
      ? await clientA.create(namespace, { id: id() })
      : await worker.create(namespace, { id: id() }, { owner: owner() }),
  );
  const as = { owner: made.owner };
  const third = isOwn ? { api: clientA, as: {} } : { api: subject.api("worker"), as };
  const doors = [{ api: worker, as }, { api: admin, as }, third] as const;
  return { made, scene: { namespace, id: id(), doors, seen: [], floor: made.version } };
}

/** Drawn before anything runs, so that the same seed plans the same, whoever is quick. */
const planOne = (random: Random) => ({
  choice: random.whole(100),
  door: random.whole(3),
  turns: random.whole(6),
  yields: random.whole(10) === 0,
});

/** A few turns of the queue, so that calls of different callers fall between each other's steps. */
async function pause({ turns, yields }: { readonly turns: number; readonly yields: boolean }): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
  if (yields) await new Promise((resolve) => setTimeout(resolve, 0));
}

async function perform(scene: Scene, { api, as }: Door, choice: number, note: string): Promise<void> {
  const { namespace, id } = scene;
  const key = QUESTIONS[choice % QUESTIONS.length] as string;
  const statusMessage = note;
  if (choice < 10) return observe(scene, { kind: "get" }, () => reading(api, namespace, id, as)).then(() => {});
  if (choice < 30) {
    const read = await observe(scene, { kind: "get" }, () => reading(api, namespace, id, as));
    const document = JSON.stringify({ ...modelOf(read).document, [note]: 1 });
    const content = { document, task: { ...taskOf(read), statusMessage } };
    const act = { kind: "update", version: read.version, note } as const;
    await observe(scene, act, () => api.replace(namespace, id, read.version, content, as));
  } else if (choice < 40) {
    const status = choice % 2 ? ("working" as const) : null;
    const changes = { document: JSON.stringify({ [note]: 1 }), ...(status ? { task: { status } } : {}) };
    const act = { kind: "merge", note, ...(status ? { status } : {}) } as const;
    await observe(scene, act, () => api.merge(namespace, id, changes, as));
  } else if (choice < 52) {
    const status = (["working", "input_required", "completed", "failed"] as const)[choice % 4] as "working";
    const act = { kind: "set_status", status, note } as const;
    await observe(scene, act, () => api.setStatus(namespace, id, status, { task: { statusMessage } }, as));
  } else if (choice < 70) {
    const requests = JSON.stringify({ [key]: { asks: note } });
    await observe(scene, { kind: "ask", key, note }, () => api.setQuestions(namespace, id, requests, as));
  } else if (choice < 97) {
    const responses = JSON.stringify({ [key]: { says: note } });
    await observe(scene, { kind: "answer", key, note }, () => api.resolve(namespace, id, responses, as));
  } else {
    await observe(scene, { kind: "cancel" }, () => api.cancel(namespace, id, as));
  }
}

async function reading(api: StoreApi, namespace: string, id: string, as: As) {
  const record = await api.get(namespace, id, as);
  return record && { kind: "unchanged" as const, record };
}

async function observe(
  scene: Scene,
  act: Act,
  call: () => Promise<{ readonly kind: Step["kind"]; readonly record: StoredRecord } | null>,
): Promise<StoredRecord> {
  const { floor } = scene;
  const { kind, record } = isThere(await call(), "the record is there all the time");
  scene.floor = Math.max(scene.floor, record.version);
  scene.seen.push({ act, kind, record, floor });
  return record;
}

/** The log as one hears it who waits for it, to the task's end. */
async function hear({ namespace, id, doors }: Scene): Promise<readonly RecordEntry[]> {
  const { api, as } = doors[1];
  const heard: RecordEntry[] = [];
  for (let after = 0; ;) {
    const news = isThere(await api.events(namespace, id, { ...as, after, waitMs: 30_000 }), "the log is there");
    heard.push(...news.entries);
    after = news.cursor;
    if (news.entries.some(({ event }) => "status" in event && isEnd(event.status))) return heard;
  }
}

const isEnd = (status: string | null): boolean => ["completed", "failed", "cancelled"].includes(String(status));

/** The one order of all that was written, beginning with the creation; throws where there is none. */
function inOrder(made: StoredRecord, seen: readonly Seen[]): readonly Step[] {
  const created: Step = { kind: "written", after: modelOf(made), event: { kind: "created", status: "working" } };
  const steps = [created];
  const writes = seen.filter(({ kind }) => kind === "written").sort((a, b) => a.record.version - b.record.version);
  for (const { act, record } of writes) {
    const step = stepOf((steps.at(-1) as Step).after, act);
    isEqual(step.kind, "written", `${JSON.stringify(act)} wrote version ${record.version}, where it means something`);
    isEqual(modelOf(record), step.after, `version ${record.version} is what ${JSON.stringify(act)} makes of the last`);
    steps.push(step);
  }
  for (const one of seen) fits(one, steps);
  const times = [made, ...writes.map(({ record }) => record)].map(({ updatedAt }) => updatedAt);
  isAscending(times, "updatedAt never goes back");
  return steps;
}

/** What was seen was so at that version, and is not older than what had been shown before the call began. */
function fits({ act, kind, record, floor }: Seen, steps: readonly Step[]): void {
  const then: Model = isThere(steps[record.version - 1]?.after, `somebody wrote version ${record.version}`);
  isEqual(modelOf(record), then, `what ${JSON.stringify(act)} was shown was stored at that version`);
  isTrue(kind === "written" ? record.version > floor : record.version >= floor, `${act.kind} was not shown the past`);
  if (kind !== "written") isEqual(stepOf(then, act).kind, kind, `${JSON.stringify(act)} came to what it means then`);
}
