import { StreamResponse } from "@a2a-js/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TASK_FACTS_URI } from "../../src/a2a/extensions";
import { updatesOf } from "../../src/a2a/updates";
import { artifactsOf, statusOf } from "../../src/a2a/view";
import { outstanding, type LogEntry, type Task, type TaskDraft } from "../../src/task/task";
import type { TaskEvent } from "../../src/task/transition";
import type { ToolResult } from "../../src/tool/define-tool";
import { answered, asked, failed, form, life, login, progressed, read, resulted, settled, started } from "./life";
import { faultsOf } from "./shapes";

const lease = { id: "l", until: 60_000, worker: "w" };
const inQueue: Partial<TaskDraft> = {
  runs: { in: "queue", queue: "q", maxAttempts: null, output: null },
};

type Update = { statusUpdate?: Record<string, unknown>; artifactUpdate?: Record<string, unknown> };

/** What an entry tells, as the SDK writes it. */
async function told(entry: LogEntry | undefined, task: Task | null): Promise<Update[]> {
  if (!entry) throw new Error("There is no such entry.");
  const updates = await updatesOf(entry, async () => task && read(task));
  return updates.map((update) => {
    const json = JSON.parse(JSON.stringify(StreamResponse.toJSON(update))) as Update;
    expect(faultsOf(json, "StreamResponse")).toEqual([]);
    return json;
  });
}

/** What each entry tells when it happens. */
const toldBy = (over: Partial<TaskDraft>, ...events: readonly TaskEvent[]) => {
  const { entries, stages } = life(over, ...events);
  return Promise.all(
    entries.map(async (entry, at) => ({ event: entry.event, news: await told(entry, stages[at] as Task) })),
  );
};

/** Of each status update its state and its words. */
const states = (news: readonly Update[]) =>
  news.map(({ statusUpdate }) => {
    const status = statusUpdate?.["status"] as { state: string; message?: { parts: { text?: string }[] } } | undefined;
    return [
      status?.state.replace("TASK_STATE_", ""),
      ...(status?.message?.parts.slice(0, 1).map(({ text }) => text) ?? []),
    ];
  });

const result: ToolResult = {
  content: [
    { type: "text", text: "one" },
    { type: "text", text: "two" },
  ],
  structuredContent: { n: 3 },
  _meta: { m: 1 },
};

describe("an entry of the log", () => {
  it("tells what a client can see, and nothing of what it cannot", async () => {
    const turn = { id: "m", digest: "d", at: 1_650, message: "{}" };
    const all = await toldBy(
      inQueue,
      { type: "offered", at: 1_050 },
      { type: "claimed", at: 1_100, lease },
      { type: "stepped", at: 1_200, key: "s", value: "1" },
      progressed(1_250, "half"),
      { type: "released", at: 1_300 },
      { type: "claimed", at: 1_400, lease },
      failed(1_450, 1_500, "Attempt 1 of 3: no."),
      { type: "claimed", at: 1_500, lease },
      asked(1_600, { a: form("First?"), b: form("Second?") }),
      { type: "said", at: 1_650, turn, statusMessage: "Answer both." },
      answered(1_700, ["a"]),
      {
        type: "lease_lapsed",
        at: 1_750,
        retryAt: 1_800,
        statusMessage: "x",
        giveUp: { kind: "cancelled" },
        minTtlMs: 1,
      },
      answered(1_800, ["b"]),
      { type: "claimed", at: 2_000, lease },
      {
        type: "lease_lapsed",
        at: 2_100,
        retryAt: 2_200,
        statusMessage: "Its worker fell silent.",
        giveUp: { kind: "cancelled" },
        minTtlMs: 1,
      },
      { type: "claimed", at: 2_300, lease },
      { type: "slept", at: 2_400, sleeps: [{ ordinal: 0, until: 3_000 }], ttlMs: null },
      settled(3_100, resulted({ content: [] })),
    );
    expect(all.map(({ event, news }) => [event, ...states(news).flat()])).toEqual([
      ["created"],
      ["offered"],
      ["claimed", "WORKING"],
      ["stepped"],
      ["progressed", "WORKING", "half"],
      ["released"],
      ["claimed"],
      ["attempt_failed", "WORKING", "Attempt 1 of 3: no."],
      ["claimed"],
      ["asked", "INPUT_REQUIRED", "First?\n\nSecond?"],
      ["said", "INPUT_REQUIRED", "Answer both.\n\nFirst?\n\nSecond?"],
      ["answered", "INPUT_REQUIRED", "Second?"],
      ["lease_lapsed"],
      ["answered", "WORKING"],
      ["claimed"],
      ["lease_lapsed", "WORKING", "Its worker fell silent."],
      ["claimed"],
      ["slept"],
      ["settled", "COMPLETED"],
    ]);
  });

  it("tells of the first start only, and of no restart", async () => {
    const all = await toldBy(
      {},
      started(1_100),
      { type: "restarted", at: 1_200, retryAt: 1_300, maxRestarts: 20, minTtlMs: 1 },
      started(1_300),
      asked(1_400, { a: form("Sure?") }),
      { type: "questions_lapsed", at: 95_000 },
    );
    expect(all.map(({ event, news }) => [event, ...states(news).flat()])).toEqual([
      ["created"],
      ["started", "WORKING"],
      ["restarted"],
      ["started"],
      ["asked", "INPUT_REQUIRED", "Sure?"],
      ["questions_lapsed", "WORKING"],
    ]);
  });

  it("is told as a reading of that moment tells it", async () => {
    const { entries, stages } = life(
      {},
      started(),
      asked(1_200, { a: form("Sure?"), b: login("Log in.", "https://example.com/") }),
      answered(1_300, ["a"]),
    );
    for (const n of [2, 3]) {
      const [update] = await updatesOf(entries[n] as LogEntry, async () => read(stages[n] as Task));
      const status = statusOf(read(stages[n] as Task));
      expect(update?.payload).toMatchObject({ $case: "statusUpdate", value: { status } });
    }
    const [last] = await told(entries[3], stages[3] as Task);
    expect(last?.statusUpdate?.["status"]).toMatchObject({ state: "TASK_STATE_AUTH_REQUIRED" });
  });

  it("has the progress as numbers in its metadata, and no other entry has any", async () => {
    const all = await toldBy({ contextId: "ctx" }, started(), progressed(1_200), settled(1_300, resulted(result)));
    const updates = all.flatMap(({ news }) => news.flatMap(({ statusUpdate }) => (statusUpdate ? [statusUpdate] : [])));
    expect(updates).toMatchObject([
      { taskId: "a".repeat(43), contextId: "ctx" },
      { metadata: { [TASK_FACTS_URI]: { progress: { progress: 1, total: 4 } } } },
      { contextId: "ctx" },
    ]);
    expect(updates.filter((update) => "metadata" in update)).toHaveLength(1);
    expect(updates[1]?.["status"]).not.toHaveProperty("message");
  });

  it("tells nothing of a task that is gone", async () => {
    const { entries } = life({}, started(), settled(1_300, resulted(result)));
    for (const entry of entries) expect(await told(entry, null)).toEqual([]);
  });

  it("is not read for where there is nothing to tell", async () => {
    const { entries } = life({}, started(), { type: "stepped", at: 1_200, key: "s", value: "1" });
    const unread = () => Promise.reject(new Error("It was read."));
    for (const n of [0, 2]) expect(await updatesOf(entries[n] as LogEntry, unread)).toEqual([]);
  });
});

describe("the entry that settles a task", () => {
  it("tells the result part by part, then how it ended", async () => {
    const { entries, task } = life({ contextId: "ctx" }, started(), settled(1_300, resulted(result)));
    const ids = { taskId: "a".repeat(43), contextId: "ctx" };
    // ProtoJSON leaves out what is false.
    expect(await told(entries.at(-1), task)).toEqual([
      {
        artifactUpdate: {
          ...ids,
          artifact: { artifactId: "result", parts: [{ text: "one", mediaType: "text/plain" }], metadata: { m: 1 } },
        },
      },
      {
        artifactUpdate: {
          ...ids,
          artifact: { artifactId: "result", parts: [{ text: "two", mediaType: "text/plain" }] },
          append: true,
        },
      },
      {
        artifactUpdate: {
          ...ids,
          artifact: { artifactId: "result", parts: [{ data: { n: 3 }, mediaType: "application/json" }] },
          append: true,
          lastChunk: true,
        },
      },
      { statusUpdate: { ...ids, status: { state: "TASK_STATE_COMPLETED", timestamp: "1970-01-01T00:00:01.300Z" } } },
    ]);
  });

  it.each<[name: string, state: string, event: TaskEvent]>([
    ["cancelled", "CANCELED", { type: "cancelled", at: 1_300, minTtlMs: 1 }],
    ["expired", "FAILED", { type: "expired", at: 200_000 }],
    ["given up after its last attempt", "FAILED", failed(1_300, null, "Attempt 3 of 3: no.")],
    [
      "given up after restarts",
      "FAILED",
      { type: "restarted", at: 1_300, retryAt: 1_400, maxRestarts: 0, minTtlMs: 1 },
    ],
    ["rejected", "REJECTED", settled(1_300, { kind: "rejected", reason: "No." }, "No.")],
    ["without parts", "COMPLETED", settled(1_300, resulted({ content: [] }))],
  ])("tells of one that was %s only that", async (_name, state, event) => {
    const { entries, task } = life({}, started(), event);
    expect(states(await told(entries.at(-1), task)).map(([first]) => first)).toEqual([state]);
  });
});

describe("an entry that is told late", () => {
  const events = [
    started(1_100),
    progressed(1_150, "half"),
    asked(1_200, { a: form("First?") }),
    answered(1_300, ["a"]),
    started(1_400),
    asked(1_500, { b: login("Log in.", "https://example.com/") }),
    answered(1_600, ["b"]),
    settled(1_700, resulted(result)),
  ];

  it("still tells of its own state, with its own words and time", async () => {
    const { entries, task } = life({}, ...events);
    const news = await Promise.all(entries.map((entry) => told(entry, task)));
    expect(states(news.flat().filter(({ statusUpdate }) => statusUpdate))).toEqual([
      ["WORKING"],
      ["WORKING", "half"],
      ["INPUT_REQUIRED", "First?"],
      ["WORKING"],
      ["INPUT_REQUIRED", "Log in."],
      ["WORKING"],
      ["COMPLETED"],
    ]);
    const [question] = news[3] ?? [];
    expect(question?.statusUpdate?.["status"]).toMatchObject({ timestamp: "1970-01-01T00:00:01.200Z" });
    expect(JSON.stringify(question)).not.toContain("inputRequests");
  });

  it("does not take the questions of a later wait for its own", async () => {
    const { entries, stages } = life({}, ...events);
    const waitsAgain = stages[6] as Task;
    const [news] = await told(entries[3], waitsAgain);
    expect(JSON.stringify(news)).not.toContain("Log in.");
    expect(news?.statusUpdate?.["status"]).toMatchObject({ state: "TASK_STATE_INPUT_REQUIRED" });
  });

  it("tells of what is still open, as long as the task has waited ever since", async () => {
    const { entries, task } = life(
      {},
      started(),
      asked(1_200, { a: form("First?"), b: form("Second?") }),
      answered(1_300, ["a"]),
    );
    const [news] = await told(entries[2], task);
    expect(states([news as Update])).toEqual([["INPUT_REQUIRED", "First?\n\nSecond?"]]);
    const text = JSON.stringify(news);
    expect(text).toContain('"inputRequests":{"b":');
  });
});

describe("any life of a task", () => {
  const at = fc.integer({ min: 1_000, max: 90_000 });
  const event = fc.oneof(
    at.map((time) => started(time)),
    fc.tuple(at, fc.option(fc.string(), { nil: undefined })).map(([time, text]) => progressed(time, text)),
    fc
      .tuple(at, fc.subarray(["a", "b", "c"], { minLength: 1 }), fc.boolean())
      .map(([time, keys, isLogin]) =>
        asked(
          time,
          Object.fromEntries(keys.map((key) => [key, isLogin ? login(key, "https://x.example") : form(key)])),
        ),
      ),
    fc.tuple(at, fc.subarray(["a", "b", "c"])).map(([time, keys]) => answered(time, keys)),
    at.map((time) => failed(time, time + 5, "Attempt 1 of 3: no.")),
    at.map((time): TaskEvent => ({ type: "stepped", at: time, key: String(time), value: "1" })),
    at.map((time) => settled(time, resulted(result))),
    at.map((time): TaskEvent => ({ type: "cancelled", at: time, minTtlMs: 1 })),
  );
  const STATES: Readonly<Record<LogEntry["phase"], readonly string[]>> = {
    submitted: ["SUBMITTED"],
    working: ["WORKING"],
    input_required: ["INPUT_REQUIRED", "AUTH_REQUIRED"],
    settled: ["COMPLETED", "FAILED", "CANCELED", "REJECTED"],
  };

  it("is told without a word that is not true of its moment, however late", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 20 }), fc.nat(), async (events, late) => {
        const { entries, stages } = life({}, ...events);
        for (const [n, entry] of entries.entries()) {
          const later = stages[Math.min(stages.length - 1, n + (late % 4))] as Task;
          const news = await told(entry, later);
          for (const [state] of states(news.filter(({ statusUpdate }) => statusUpdate))) {
            expect(STATES[entry.phase]).toContain(state);
          }
          const open = outstanding(stages[n] as Task).map(({ key }) => key);
          for (const { statusUpdate } of news) {
            const parts = (statusUpdate?.["status"] as { message?: { parts?: { data?: unknown }[] } } | undefined)
              ?.message?.parts;
            const data = parts?.[1]?.data as { inputRequests: object } | undefined;
            for (const key of Object.keys(data?.inputRequests ?? {})) expect(open).toContain(key);
          }
        }
      }),
    );
  });

  it("is told so that the parts sent one by one make the artifact", async () => {
    const text = fc.record({ type: fc.constant("text"), text: fc.string() });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (content) => {
        const { entries, task } = life({}, started(), settled(1_300, resulted({ content })));
        const updates = await updatesOf(entries.at(-1) as LogEntry, async () => read(task));
        const sent = updates.flatMap(({ payload }) => (payload?.$case === "artifactUpdate" ? [payload.value] : []));
        expect(sent.flatMap(({ artifact }) => artifact?.parts ?? [])).toEqual(artifactsOf(read(task))[0]?.parts ?? []);
        expect(sent.map(({ append }) => append)).toEqual(content.map((_, n) => n > 0));
        expect(sent.map(({ lastChunk }) => lastChunk)).toEqual(content.map((_, n) => n === content.length - 1));
        expect(updates).toHaveLength(content.length + 1);
        expect(updates.at(-1)?.payload?.$case).toBe("statusUpdate");
      }),
    );
  });
});
