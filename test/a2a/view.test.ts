import { Message, StreamResponse, Task, type Part } from "@a2a-js/sdk";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { ServerCallContext, type A2ARequestHandler } from "@a2a-js/sdk/server";
import { describe, expect, it } from "vitest";
import { INPUT_REQUESTS_URI, TASK_FACTS_URI } from "../../src/a2a/extensions";
import { storedMessage } from "../../src/a2a/messages";
import { textPart, toParts } from "../../src/a2a/parts";
import { ROLE } from "../../src/a2a/states";
import { artifactsOf, contextIdOf, historyOf, statusOf, toReply, toTask } from "../../src/a2a/view";
import { toSnapshot, withoutBody } from "../../src/service/snapshot";
import { ARGUMENTS_KEY, type Outcome, type TaskDraft } from "../../src/task/task";
import type { TaskEvent } from "../../src/task/transition";
import type { ToolResult } from "../../src/tool/define-tool";
import {
  answered,
  asked,
  failed,
  form,
  life,
  login,
  progressed,
  read,
  resulted,
  sampling,
  settled,
  started,
} from "./life";
import { faultsOf } from "./shapes";

const snapshot = (over: Partial<TaskDraft>, ...events: readonly TaskEvent[]) => read(life(over, ...events).task);

/** As the SDK writes it on the wire; nothing a strict reader would refuse. */
function written(task: Task): Record<string, unknown> {
  const json = JSON.parse(JSON.stringify(Task.toJSON(task))) as Record<string, unknown>;
  expect(faultsOf(json, "Task")).toEqual([]);
  return json;
}

const statusJson = (...events: readonly TaskEvent[]) =>
  written(toTask(snapshot({}, ...events), { artifacts: false }))["status"] as Record<string, unknown>;

const words = (status: Record<string, unknown>): unknown =>
  (status["message"] as { parts?: { text?: string }[] } | undefined)?.parts?.map(({ text }) => text);

const ID = "a".repeat(43);
const result: ToolResult = { content: [{ type: "text", text: "done" }] };

const said = (id: string, text: string, over: Partial<Message> = {}): Message => ({
  messageId: id,
  contextId: "",
  taskId: "",
  role: ROLE.user,
  parts: [textPart(text)],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
  ...over,
});

describe("a task", () => {
  it("has the fields of A2A, and all others in its metadata", () => {
    const over = { tool: "greet", origin: "mcp/2026-07-28", arguments: '{"name":"Ada"}', contextId: "ctx" };
    const task = snapshot(
      over,
      started(),
      progressed(1_200),
      settled(2_000, resulted({ ...result, _meta: { "a/b": 1 } })),
    );
    expect(written(toTask(task, {}))).toEqual({
      id: ID,
      contextId: "ctx",
      status: { state: "TASK_STATE_COMPLETED", timestamp: "1970-01-01T00:00:02.000Z" },
      artifacts: [{ artifactId: "result", parts: [{ text: "done", mediaType: "text/plain" }], metadata: { "a/b": 1 } }],
      history: [
        {
          messageId: `${ID}.call`,
          contextId: "ctx",
          taskId: ID,
          role: "ROLE_USER",
          parts: [{ data: { skill: "greet", arguments: { name: "Ada" } }, mediaType: "application/json" }],
        },
      ],
      metadata: {
        [TASK_FACTS_URI]: {
          createdAt: "1970-01-01T00:00:01.000Z",
          updatedAt: "1970-01-01T00:00:02.000Z",
          ttlMs: 100_000,
          pollIntervalMs: 1_000,
          origin: "mcp/2026-07-28",
          tool: "greet",
          progress: { progress: 1, total: 4 },
        },
      },
    });
  });

  it("is its own context when it was given none", () => {
    expect(contextIdOf(snapshot({}))).toBe(ID);
    expect(contextIdOf(snapshot({ contextId: "c" }))).toBe("c");
    expect(written(toTask(snapshot({ ttlMs: null }), {}))).toMatchObject({
      contextId: ID,
      status: { state: "TASK_STATE_SUBMITTED", timestamp: "1970-01-01T00:00:01.000Z" },
      metadata: { [TASK_FACTS_URI]: { ttlMs: null } },
    });
  });

  it("leaves artifacts out where they are not wanted, and history where it is not wanted or was not read", () => {
    const { task } = life({}, started(), settled(2_000, resulted(result)));
    expect(written(toTask(read(task), { artifacts: false }))).not.toHaveProperty("artifacts");
    expect(written(toTask(read(task), { historyLength: 0 }))).not.toHaveProperty("history");
    expect(written(toTask(toSnapshot(task), {}))).not.toHaveProperty("history");
  });
});

describe("a status", () => {
  const error: Outcome = { kind: "error", error: { code: 4711, message: "It broke.", data: '{"why":[1]}' } };
  const faulty: ToolResult = { content: [{ type: "text", text: "No such city." }], isError: true };

  it.each<[name: string, state: string, texts: string[] | undefined, events: TaskEvent[]]>([
    ["submitted", "SUBMITTED", undefined, []],
    ["working", "WORKING", undefined, [started()]],
    ["working, far enough to say something", "WORKING", ["half"], [started(), progressed(1_200, "half")]],
    ["working, without words", "WORKING", undefined, [started(), progressed(1_200)]],
    [
      "working after a setback",
      "WORKING",
      ["Attempt 1 of 3: no."],
      [started(), failed(1_200, 5_000, "Attempt 1 of 3: no.")],
    ],
    ["a result", "COMPLETED", undefined, [started(), settled(1_200, resulted(result))]],
    ["a result with a word to it", "COMPLETED", ["fine"], [started(), settled(1_200, resulted(result), "fine")]],
    ["a result of nothing", "COMPLETED", undefined, [started(), settled(1_200, resulted({ content: [] }))]],
    ["a tool error", "FAILED", ["No such city."], [started(), settled(1_200, resulted(faulty), "No such city.")]],
    ["an error", "FAILED", ["It broke."], [started(), settled(1_200, error, "Attempt 3 of 3: It broke.")]],
    ["a refusal", "REJECTED", ["Not that."], [started(), settled(1_200, { kind: "rejected", reason: "Not that." })]],
    ["cancelled", "CANCELED", ["The task was cancelled."], [{ type: "cancelled", at: 1_200, minTtlMs: 5_000 }]],
    ["expired", "FAILED", ["The task reached the end of its ttl."], [{ type: "expired", at: 200_000 }]],
  ])("of %s is %s", (_name, state, texts, events) => {
    const status = statusJson(...events);
    expect(status["state"]).toBe(`TASK_STATE_${state}`);
    expect(words(status)).toEqual(texts);
    if (texts) {
      expect(status["message"]).toMatchObject({ role: "ROLE_AGENT", taskId: ID, contextId: ID });
      expect(status["message"]).not.toHaveProperty("extensions");
    }
  });

  it("has the code and the data of an error in its message's metadata", () => {
    const status = statusJson(started(), settled(1_200, error));
    expect(status["message"]).toMatchObject({ metadata: { code: 4711, data: { why: [1] } } });
    const plain: Outcome = { kind: "error", error: { code: -32603, message: "It broke." } };
    expect((statusJson(started(), settled(1_200, plain))["message"] as Message).metadata).toEqual({ code: -32603 });
  });

  it("tells of a tool error in the artifact too", () => {
    const task = written(toTask(snapshot({}, started(), settled(1_200, resulted(faulty), "No such city.")), {}));
    expect(task["artifacts"]).toEqual([
      { artifactId: "result", parts: [{ text: "No such city.", mediaType: "text/plain" }] },
    ]);
  });

  it("is of the time when its state began", () => {
    expect(statusJson(started(1_500), progressed(1_700))["timestamp"]).toBe("1970-01-01T00:00:01.500Z");
  });
});

describe("a task that waits", () => {
  const keyed = (request: { method: string; params: object }) => ({ method: request.method, params: request.params });

  it("asks in words, and as data for programs", () => {
    const status = statusJson(started(), asked(1_300, { ok: form("Sure?"), name: form("Who?") }));
    expect(status).toEqual({
      state: "TASK_STATE_INPUT_REQUIRED",
      timestamp: "1970-01-01T00:00:01.300Z",
      message: {
        messageId: expect.stringMatching(/^a{43}\.[0-9a-z]+$/) as string,
        contextId: ID,
        taskId: ID,
        role: "ROLE_AGENT",
        parts: [
          { text: "Sure?\n\nWho?", mediaType: "text/plain" },
          {
            data: { inputRequests: { ok: keyed(form("Sure?")), name: keyed(form("Who?")) } },
            mediaType: "application/json",
          },
        ],
        extensions: [INPUT_REQUESTS_URI],
      },
    });
  });

  it("waits for an authorisation when that is all it waits for, and says where", () => {
    const url = "https://auth.example.com/x?y=1";
    const status = statusJson(started(), asked(1_300, { login: login("Please log in.", url) }));
    expect(status["state"]).toBe("TASK_STATE_AUTH_REQUIRED");
    expect(words(status)).toEqual([`Please log in.\n${url}`, undefined]);
    const both = statusJson(started(), asked(1_300, { login: login("Please log in.", url), ok: form("Sure?") }));
    expect(both["state"]).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(words(both)).toEqual([`Please log in.\n${url}\n\nSure?`, undefined]);
  });

  it("tells what would answer, before it asks again", () => {
    const turn = { id: "m", digest: "d", at: 1_400, message: storedMessage(said("m", "hm")) };
    const why: TaskEvent = { type: "said", at: 1_400, turn, statusMessage: "Say yes or no." };
    expect(words(statusJson(started(), asked(1_300, { ok: form("Sure?") }), why))).toEqual([
      "Say yes or no.\n\nSure?",
      undefined,
    ]);
  });

  it("does not repeat a prompt that its status line cut short", () => {
    const long = "Is it? ".repeat(1_000);
    expect(words(statusJson(started(), asked(1_300, { ok: form(long) })))).toEqual([long, undefined]);
  });

  it("asks for what has no prompt of its own in a few words", () => {
    const text = "The task waits for the client's answer.";
    const status = statusJson(started(), asked(1_300, { a: sampling, b: sampling }));
    expect(words(status)).toEqual([text, undefined]);
    expect(status["state"]).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it("keeps a key named __proto__", () => {
    const requests = JSON.parse(`{"__proto__":${JSON.stringify(form("Sure?"))}}`) as Record<
      string,
      ReturnType<typeof form>
    >;
    const parts = (statusJson(started(), asked(1_300, requests))["message"] as { parts: { data?: object }[] }).parts;
    expect(JSON.stringify(parts[1]?.data)).toContain('"__proto__":{"method"');
  });

  it("asks for the arguments that a message left out, from its creation on", () => {
    const missing = { authorKey: ARGUMENTS_KEY, occurrence: 1, request: form("Which city?"), deadline: 9_000 };
    const task = written(toTask(snapshot({ missing }), {}));
    expect(task["status"]).toMatchObject({ state: "TASK_STATE_INPUT_REQUIRED" });
    expect(words(task["status"] as Record<string, unknown>)).toEqual(["Which city?", undefined]);
  });
});

describe("the id of a status message", () => {
  const idOf = (...events: readonly TaskEvent[]) => statusOf(snapshot({}, ...events)).message?.messageId;

  it("is the same at each reading, with and without the body", () => {
    const { task } = life({}, started(), settled(1_200, resulted({ ...result, isError: true }), "done"));
    expect(statusOf(toSnapshot(task))).toEqual(statusOf(read(task)));
    expect(statusOf(withoutBody(toSnapshot(task)))).toEqual(statusOf(read(task)));
    expect(idOf(started(), progressed(1_200, "a"))).toBe(idOf(started(), progressed(1_900, "a")));
  });

  it("is another for another text, another state, other questions and another task", () => {
    const turn = { id: "m", digest: "d", at: 1_400, message: storedMessage(said("m", "hm")) };
    const sure = asked(1_300, { ok: form("Sure?") });
    const ids = [
      idOf(started(), progressed(1_200, "a")),
      idOf(started(), progressed(1_200, "b")),
      idOf(started(), settled(1_200, resulted(result), "a")),
      idOf(started(), sure),
      idOf(started(), asked(1_300, { other: form("Sure?") })),
      idOf(started(), sure, { type: "said", at: 1_400, turn, statusMessage: "Say yes." }),
      statusOf(snapshot({ id: "b" }, started(), progressed(1_200, "a"))).message?.messageId,
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain(undefined);
  });
});

describe("artifacts", () => {
  it("are one, of the whole result, once there is one", () => {
    const whole: ToolResult = {
      content: [
        { type: "text", text: "Here:" },
        { type: "image", data: "AAEC", mimeType: "image/png" },
      ],
      structuredContent: { n: 1 },
    };
    expect(artifactsOf(snapshot({}, started()))).toEqual([]);
    const [artifact, ...more] = artifactsOf(snapshot({}, started(), settled(1_200, resulted(whole))));
    expect(more).toEqual([]);
    expect(artifact).toMatchObject({ artifactId: "result", parts: toParts(whole) });
  });

  it("are none of a result without parts, without its body, or of another end", () => {
    const { task } = life({}, started(), settled(1_200, resulted(result)));
    expect(artifactsOf(withoutBody(toSnapshot(task)))).toEqual([]);
    expect(artifactsOf(snapshot({}, started(), settled(1_200, resulted({ content: [] }))))).toEqual([]);
    expect(artifactsOf(snapshot({}, { type: "cancelled", at: 1_200, minTtlMs: 1 }))).toEqual([]);
  });
});

describe("a history", () => {
  const born = {
    origin: "a2a/1.0",
    contextId: "ctx",
    extras: storedMessage(said("u0", "do it", { metadata: { x: 1 } })),
  };
  const turn = (id: string, text: string) => storedMessage(said(id, text, { taskId: "a" }));
  const texts = (history: readonly Message[]) =>
    history.map(({ messageId, parts }) => {
      const [content] = parts.map((part: Part) => part.content);
      return content?.$case === "text" ? content.value : messageId;
    });

  it("begins with the message the task was made by, placed", () => {
    const [first, ...more] = historyOf(snapshot(born));
    expect(more).toEqual([]);
    expect(first).toEqual(said("u0", "do it", { metadata: { x: 1 }, contextId: "ctx", taskId: ID }));
  });

  it("has questions once they were answered, and what the client said, by time", () => {
    const events: TaskEvent[] = [
      started(),
      asked(1_300, { a: form("First?"), b: form("Second?") }),
      answered(1_400, ["a"], turn("u1", "one")),
      answered(1_500, ["b"], turn("u2", "two")),
      started(1_600),
      asked(1_700, { c: form("Third?") }),
    ];
    const waiting = snapshot(born, ...events);
    const history = ["do it", "First?\n\nSecond?", "one", "two"];
    expect(texts(historyOf(waiting))).toEqual(history);
    // The message of both questions is the same after the first answer already.
    expect(historyOf(snapshot(born, ...events.slice(0, 3)))).toEqual(historyOf(waiting).slice(0, 3));
    const on = snapshot(born, ...events, answered(1_800, ["c"], turn("u3", "three")));
    expect(texts(historyOf(on))).toEqual([...history, "Third?", "three"]);
    for (const { contextId, taskId } of historyOf(on)) expect([contextId, taskId]).toEqual(["ctx", ID]);
    // What was the status is now in the history, under the same id.
    expect(historyOf(on).map(({ messageId }) => messageId)).toContain(statusOf(waiting).message?.messageId);
    expect(historyOf(on).find(({ parts }) => parts[1])?.extensions).toEqual([INPUT_REQUESTS_URI]);
  });

  it("has the last n of it, all where no number was asked for, and none for 0", () => {
    const task = snapshot(
      born,
      started(),
      asked(1_300, { a: form("Sure?") }),
      answered(1_400, ["a"], turn("u1", "one")),
    );
    const lengths = [undefined, 0, 1, 2, 3, 50].map((historyLength) => toTask(task, { historyLength }).history);
    expect(lengths.map(texts)).toEqual([
      ["do it", "Sure?", "one"],
      [],
      ["one"],
      ["Sure?", "one"],
      ["do it", "Sure?", "one"],
      ["do it", "Sure?", "one"],
    ]);
    for (const task2 of lengths)
      expect(task2.map((one) => faultsOf(Message.toJSON(one), "Message"))).toEqual(task2.map(() => []));
  });

  it("puts a question that was asked again, or at once, after the message that led to it", () => {
    const refused: TaskEvent = {
      type: "answered",
      at: 1_400,
      answers: {},
      refused: { a: "No number." },
      turn: { id: "u1", digest: "d", at: 1_400, message: turn("u1", "one") },
    };
    const task = snapshot(
      born,
      started(),
      asked(1_400, { a: form("How many?") }),
      refused,
      answered(1_500, ["a-2"], turn("u2", "two")),
      started(1_500),
      asked(1_500, { b: form("Sure?") }),
      answered(1_600, ["b"], turn("u3", "three")),
    );
    expect(texts(historyOf(task))).toEqual([
      "do it",
      "How many?",
      "one",
      "How many?\n\nThe last answer could not be used: No number.",
      "two",
      "Sure?",
      "three",
    ]);
  });

  it("has a call of another protocol in the words that would make the same task here", () => {
    const over = { origin: "mcp/2025-11-25", tool: "greet", arguments: '{"name":"Ada"}', extras: '"not a message"' };
    const [first] = historyOf(snapshot(over));
    expect(first).toMatchObject({ messageId: `${ID}.call`, role: ROLE.user, taskId: ID, contextId: ID });
    expect(first?.parts.map(({ content }) => content?.value as unknown)).toEqual([
      { skill: "greet", arguments: { name: "Ada" } },
    ]);
  });

  it("has no two messages of the same id", () => {
    const task = snapshot(
      born,
      started(),
      asked(1_300, { a: form("Sure?"), b: form("Sure?") }),
      answered(1_400, ["a", "b"]),
    );
    const again = read(
      life(
        born,
        started(),
        asked(1_300, { a: form("Sure?") }),
        answered(1_400, ["a"]),
        started(1_500),
        asked(1_600, { c: form("Sure?") }),
        answered(1_700, ["c"]),
      ).task,
    );
    for (const one of [task, again]) {
      const ids = historyOf(one).map(({ messageId }) => messageId);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});

describe("a reply", () => {
  const reply = (over: ToolResult) => {
    const json = StreamResponse.toJSON({ payload: { $case: "message", value: toReply(over, "ctx") } }) as {
      message: object;
    };
    expect(faultsOf(json, "StreamResponse")).toEqual([]);
    return json.message;
  };

  it("is a message of the result's parts, under an id of its own", () => {
    expect(toReply(result, "ctx", "r1")).toEqual({
      ...said("r1", "done"),
      contextId: "ctx",
      role: ROLE.agent,
    });
    expect(toReply(result, "ctx").messageId).not.toBe(toReply(result, "ctx").messageId);
  });

  it("says something even of a result of nothing, and that a tool failed", () => {
    expect(reply({ content: [] })).toMatchObject({ parts: [{ text: "" }] });
    expect(reply({ ...result, isError: true, _meta: { a: 1 } })).toMatchObject({
      metadata: { a: 1, [TASK_FACTS_URI]: { isError: true } },
    });
    expect(reply(result)).not.toHaveProperty("metadata");
  });
});

describe("to a 0.3 client", () => {
  const asOld = async (task: Task): Promise<unknown> => {
    const stub = { getTask: () => Promise.resolve(task) } as unknown as A2ARequestHandler;
    const request = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: task.id } };
    const answer = await new LegacyJsonRpcTransportHandler(stub).handle(request, new ServerCallContext());
    return JSON.parse(JSON.stringify((answer as { result?: unknown }).result));
  };

  it("a task with files and data is one of its own shapes", async () => {
    const whole: ToolResult = {
      content: [
        { type: "text", text: "Here:" },
        { type: "image", data: "AAEC", mimeType: "image/png" },
        { type: "resource_link", uri: "https://example.com/a.pdf", name: "a.pdf", mimeType: "application/pdf" },
      ],
      structuredContent: [1, null],
    };
    const task = snapshot(
      { tool: "t", origin: "a2a/0.3", extras: storedMessage(said("u0", "do it")) },
      started(),
      settled(1_200, resulted(whole)),
    );
    expect(await asOld(toTask(task, {}))).toEqual({
      kind: "task",
      id: ID,
      contextId: ID,
      status: { state: "completed", timestamp: "1970-01-01T00:00:01.200Z" },
      history: [
        {
          kind: "message",
          messageId: "u0",
          contextId: ID,
          taskId: ID,
          role: "user",
          parts: [{ kind: "text", text: "do it" }],
        },
      ],
      artifacts: [
        {
          artifactId: "result",
          parts: [
            { kind: "text", text: "Here:" },
            { kind: "file", file: { bytes: "AAEC", mimeType: "image/png" } },
            { kind: "file", file: { uri: "https://example.com/a.pdf", name: "a.pdf", mimeType: "application/pdf" } },
            { kind: "data", data: { value: [1, null] }, metadata: { data_part_compat: true } },
          ],
        },
      ],
      metadata: { [TASK_FACTS_URI]: expect.objectContaining({ origin: "a2a/0.3" }) as object },
    });
  });

  it("a task that waits asks as data too", async () => {
    expect(await asOld(toTask(snapshot({}, started(), asked(1_300, { ok: form("Sure?") })), {}))).toMatchObject({
      status: {
        state: "input-required",
        message: {
          kind: "message",
          role: "agent",
          parts: [
            { kind: "text", text: "Sure?" },
            { kind: "data", data: { inputRequests: { ok: { method: "elicitation/create" } } } },
          ],
          extensions: [INPUT_REQUESTS_URI],
        },
      },
    });
  });
});
