import { describe, expect, it } from "vitest";
import { letters } from "../../src/a2a/letters";
import { storedMessage } from "../../src/a2a/messages";
import { textPart } from "../../src/a2a/parts";
import { ROLE } from "../../src/a2a/states";
import type { PushTarget, TaskDraft } from "../../src/task/task";
import type { TaskEvent } from "../../src/task/transition";
import { answered, asked, form, life, login, progressed, resulted, settled, started } from "./life";
import { faultsOf } from "./shapes";

const target = (wire: string): PushTarget => ({
  id: "p",
  url: "https://example.com/hook",
  token: null,
  authentication: null,
  wire,
  cursor: 0,
  failures: 0,
  retryAt: null,
  dead: [],
});

const stored = (messageId: string, text: string) =>
  storedMessage({
    messageId,
    contextId: "",
    taskId: "",
    role: ROLE.user,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  });

const over: Partial<TaskDraft> = { origin: "a2a/1.0", contextId: "ctx", extras: stored("u0", "do it") };
const events: TaskEvent[] = [
  started(),
  progressed(1_150, "half"),
  asked(1_200, { a: form("Sure?") }),
  answered(1_300, ["a"], stored("u1", "yes")),
  started(1_400),
  settled(1_500, resulted({ content: [{ type: "text", text: "done" }], structuredContent: { n: 1 } })),
];

async function sent(wire: string, ...happened: readonly TaskEvent[]) {
  const { task, entries } = life(over, ...happened);
  const all = await letters(task, entries, target(wire));
  return all.map((letter) => ({ ...letter, body: JSON.parse(letter.body) as Record<string, unknown> }));
}

describe("letters to a 1.0 target", () => {
  it("are one update each, in order, with the entry they tell of", async () => {
    const all = await sent("a2a/1.0", ...events);
    expect(all.map(({ seq, body }) => [seq, ...Object.keys(body)])).toEqual([
      [1, "task"],
      [2, "statusUpdate"],
      [3, "statusUpdate"],
      [4, "statusUpdate"],
      [5, "statusUpdate"],
      [7, "artifactUpdate"],
      [7, "artifactUpdate"],
      [7, "statusUpdate"],
    ]);
    for (const { body, contentType, headers } of all) {
      expect(faultsOf(body, "StreamResponse")).toEqual([]);
      expect(contentType).toBe("application/a2a+json");
      expect(headers).toEqual({ "A2A-Version": "1.0" });
    }
    expect(all.at(-1)?.body["statusUpdate"]).toMatchObject({ status: { state: "TASK_STATE_COMPLETED" } });
  });

  it("begin with the task as it was made, also when it has gone on since", async () => {
    const [first] = await sent("a2a/1.0", ...events);
    const [alone] = await sent("a2a/1.0");
    expect(first).toEqual(alone);
    expect(first?.body["task"]).toMatchObject({
      contextId: "ctx",
      status: { state: "TASK_STATE_SUBMITTED", timestamp: "1970-01-01T00:00:01.000Z" },
      history: [{ messageId: "u0", parts: [{ text: "do it" }] }],
    });
    expect(first?.body["task"]).not.toHaveProperty("artifacts");
  });

  it("tell of the entries that are given, and of no others", async () => {
    const { task, entries } = life(over, ...events);
    const some = entries.slice(4, 6);
    expect((await letters(task, some, target("a2a/1.0"))).map(({ seq }) => seq)).toEqual([5]);
    expect(await letters(task, [], target("a2a/1.0"))).toEqual([]);
  });
});

describe("letters to a 0.3 target", () => {
  it("are bare objects of that generation", async () => {
    const all = await sent("a2a/0.3", ...events);
    expect(all.map(({ body }) => body["kind"])).toEqual([
      "task",
      "status-update",
      "status-update",
      "status-update",
      "status-update",
      "artifact-update",
      "artifact-update",
      "status-update",
    ]);
    for (const { contentType, headers } of all) expect([contentType, headers]).toEqual(["application/json", undefined]);
    expect(all[0]?.body).toMatchObject({
      id: "a".repeat(43),
      contextId: "ctx",
      status: { state: "submitted" },
      history: [{ kind: "message", messageId: "u0", role: "user", parts: [{ kind: "text", text: "do it" }] }],
    });
    expect(all[6]?.body).toMatchObject({
      taskId: "a".repeat(43),
      artifact: { artifactId: "result", parts: [{ kind: "data", data: { n: 1 } }] },
      append: true,
      lastChunk: true,
    });
  });

  it("call final what ends the task, and what waits for the client", async () => {
    const finals = async (...happened: readonly TaskEvent[]) =>
      (await sent("a2a/0.3", ...happened))
        .filter(({ body }) => body["kind"] === "status-update")
        .map(({ body }) => [(body["status"] as { state: string }).state, body["final"]]);
    expect(await finals(...events)).toEqual([
      ["working", false],
      ["working", false],
      ["input-required", true],
      ["working", false],
      ["completed", true],
    ]);
    expect(await finals(started(), asked(1_200, { a: login("Log in.", "https://example.com/") }))).toEqual([
      ["working", false],
      ["auth-required", false],
    ]);
  });
});
