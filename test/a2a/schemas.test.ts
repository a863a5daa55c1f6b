import { SendMessageRequest } from "@a2a-js/sdk";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { JsonRpcTransportHandler, ServerCallContext, type A2ARequestHandler } from "@a2a-js/sdk/server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2aError } from "../../src/a2a/errors";
import { paramsOf, readParams, type Method } from "../../src/a2a/schemas";
import { message, oldMessage, taskOf, type Wire } from "./a2a-door";

const sentenceOf = (method: Method, params: unknown): string => {
  try {
    readParams(method, params);
  } catch (thrown) {
    if (thrown instanceof A2aError && thrown.fault === "invalid") return thrown.message;
    throw thrown;
  }
  return "fits";
};

const send = (over: object = {}, configuration?: object) => ({
  message: message(over),
  ...(configuration ? { configuration } : {}),
});
const push = (over: object) => ({ taskId: "t", url: "https://hooks.example", ...over });
const oldSend = (over: object = {}, configuration?: object) => ({
  message: oldMessage(over),
  ...(configuration ? { configuration } : {}),
});
const oldPush = (over: object) => ({ taskId: "t", pushNotificationConfig: { url: "https://hooks.example", ...over } });
const long = (length: number) => "x".repeat(length);

describe("what fits", () => {
  it.each<[Method, object]>([
    ["SendMessage", send()],
    [
      "SendMessage",
      {
        ...send(
          {
            parts: [
              { text: "" },
              { raw: "aGk=", filename: "f", mediaType: "text/plain" },
              { raw: "aGk_" },
              { raw: "" },
              { url: "https://a.example" },
              { data: [1, "x", null], metadata: { a: 1 } },
              { data: false },
            ],
            taskId: "t",
            contextId: long(256),
            extensions: ["urn:x"],
            referenceTaskIds: [],
            metadata: {},
          },
          {
            acceptedOutputModes: ["text/plain"],
            historyLength: 0,
            returnImmediately: true,
            taskPushNotificationConfig: {
              url: "https://hooks.example",
              id: "c",
              token: "a b",
              authentication: { scheme: "Bearer", credentials: "x" },
            },
          },
        ),
        metadata: { skillId: "x" },
      },
    ],
    ["SendMessage", { ...send({ taskId: null, metadata: null }), configuration: null, metadata: null }],
    ["GetTask", { id: "t", historyLength: 2 ** 31 - 1 }],
    ["ListTasks", {}],
    ["ListTasks", { pageSize: 100, pageToken: "", status: "TASK_STATE_INPUT_REQUIRED", includeArtifacts: false }],
    ["ListTasks", { statusTimestampAfter: "2026-11-30T10:00:00.123456+01:00", contextId: "" }],
    ["GetExtendedAgentCard", {}],
    ["message/send", oldSend()],
    [
      "message/send",
      oldSend({
        parts: [
          { kind: "file", file: { bytes: "aGk=", name: "f", mimeType: "text/plain" } },
          { kind: "file", file: { uri: "https://a.example" } },
          { kind: "data", data: { a: 1 } },
        ],
      }),
    ],
    ["tasks/pushNotificationConfig/set", oldPush({ authentication: { schemes: ["Bearer"] } })],
    ["tasks/pushNotificationConfig/get", { id: "t" }],
  ])("%s %#", (method, params) => {
    expect(sentenceOf(method, params)).toBe("fits");
  });

  it("is given on without what nobody knows, and with all that was given as data", () => {
    const data = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object;
    const given = { ...send({ parts: [{ data, kind: "data", colour: "x" }], metadata: data }), more: 1 };
    const read = readParams("SendMessage", given) as Wire;
    expect(Object.keys(read)).toEqual(["message"]);
    expect(Object.keys(read.message.parts[0])).toEqual(["data"]);
    for (const kept of [read.message.parts[0].data, read.message.metadata]) {
      expect(JSON.stringify(kept)).toBe('{"__proto__":{"a":1},"constructor":2}');
    }
  });

  it("takes of several schemes the first", () => {
    const read = readParams(
      "tasks/pushNotificationConfig/set",
      oldPush({ authentication: { schemes: ["Basic", "Bearer"] } }),
    ) as Wire;
    expect(read.pushNotificationConfig.authentication).toEqual({ schemes: ["Basic"] });
  });
});

describe("what does not fit is said in a sentence that names the field:", () => {
  it.each<[string, Method, unknown]>([
    ["params must be an object.", "SendMessage", []],
    ["message must be an object.", "SendMessage", {}],
    ["message.messageId must be a string.", "SendMessage", { message: { role: "ROLE_USER", parts: [{ text: "x" }] } }],
    ["message.messageId must be a string.", "SendMessage", send({ messageId: 5 })],
    ["message.messageId must not be empty.", "SendMessage", send({ messageId: "" })],
    ["message.messageId must be at most 256 characters long.", "SendMessage", send({ messageId: long(257) })],
    ['message.role must be "ROLE_USER".', "SendMessage", send({ role: "ROLE_AGENT" })],
    ['message.role must be "ROLE_USER".', "SendMessage", send({ role: "user" })],
    ['message.role must be "ROLE_USER".', "SendMessage", send({ role: 1 })],
    ["message.parts must be a list.", "SendMessage", send({ parts: "x" })],
    ["message.parts must have at least one part.", "SendMessage", send({ parts: [] })],
    ["message.parts[1] must be an object.", "SendMessage", send({ parts: [{ text: "x" }, "y"] })],
    ...[{}, { text: "x", data: 1 }, { text: null }, { data: null }].map(
      (part) =>
        [
          'message.parts[0] must have exactly one of "text", "raw", "url", "data".',
          "SendMessage",
          send({ parts: [part] }),
        ] as [string, Method, unknown],
    ),
    ["message.parts[0].text must be a string.", "SendMessage", send({ parts: [{ text: 5 }] })],
    ["message.parts[0].raw must be base64.", "SendMessage", send({ parts: [{ raw: "a" }] })],
    ["message.parts[0].raw must be base64.", "SendMessage", send({ parts: [{ raw: "aGk=\n" }] })],
    ["message.parts[0].raw must be base64.", "SendMessage", send({ parts: [{ raw: "ü" }] })],
    ["message.parts[0].metadata must be an object.", "SendMessage", send({ parts: [{ text: "x", metadata: [] }] })],
    ["message.taskId must not be empty.", "SendMessage", send({ taskId: "" })],
    ["message.contextId must be at most 256 characters long.", "SendMessage", send({ contextId: long(257) })],
    ["message.contextId must be a string.", "SendMessage", send({ contextId: 0 })],
    ["message.extensions must be a list of strings.", "SendMessage", send({ extensions: "urn:x" })],
    ["message.referenceTaskIds[0] must be a string.", "SendMessage", send({ referenceTaskIds: [1] })],
    ["message.metadata must be an object.", "SendMessage", send({ metadata: [] })],
    ["metadata must be an object.", "SendMessage", { ...send(), metadata: "x" }],
    ["configuration must be an object.", "SendMessage", { ...send(), configuration: true }],
    ["configuration.returnImmediately must be true or false.", "SendMessage", send({}, { returnImmediately: "false" })],
    ["configuration.historyLength must be an integer of at least 0.", "SendMessage", send({}, { historyLength: -1 })],
    ["configuration.historyLength must be an integer of at least 0.", "SendMessage", send({}, { historyLength: "3" })],
    ["configuration.historyLength must be an integer of at least 0.", "SendMessage", send({}, { historyLength: 1.5 })],
    ["historyLength must be an integer of at least 0.", "GetTask", { id: "t", historyLength: 2 ** 31 }],
    ["id must be a string.", "GetTask", {}],
    ["id must not be empty.", "CancelTask", { id: "" }],
    ["id must be a string.", "SubscribeToTask", { id: 7 }],
    ["pageSize must be an integer from 1 to 100.", "ListTasks", { pageSize: 0 }],
    ["pageSize must be an integer from 1 to 100.", "ListTasks", { pageSize: 101 }],
    ["status must be the name of a task state, e.g. TASK_STATE_WORKING.", "ListTasks", { status: "working" }],
    ["includeArtifacts must be true or false.", "ListTasks", { includeArtifacts: "false" }],
    ["pageToken must be a string.", "ListTasks", { pageToken: 1 }],
    ...["yesterday", "2026-11-30", "2026-11-30T10:00:00", "2026-13-01T00:00:00Z"].map(
      (statusTimestampAfter): [string, Method, unknown] => [
        "statusTimestampAfter must be an ISO 8601 time with `Z` or an offset.",
        "ListTasks",
        { statusTimestampAfter },
      ],
    ),
    ["url must be a string.", "CreateTaskPushNotificationConfig", { taskId: "t" }],
    ["url must be at most 2048 characters long.", "CreateTaskPushNotificationConfig", push({ url: long(2049) })],
    ["id must be at most 128 characters long.", "CreateTaskPushNotificationConfig", push({ id: long(129) })],
    ["token must be printable ASCII.", "CreateTaskPushNotificationConfig", push({ token: "a\r\nX: y" })],
    ["token must be at most 1024 characters long.", "CreateTaskPushNotificationConfig", push({ token: long(1025) })],
    [
      "authentication.scheme must be the name of an HTTP authentication scheme.",
      "CreateTaskPushNotificationConfig",
      push({ authentication: { scheme: "Bearer x" } }),
    ],
    ["authentication.scheme must be a string.", "CreateTaskPushNotificationConfig", push({ authentication: {} })],
    [
      "authentication.credentials must be printable ASCII.",
      "CreateTaskPushNotificationConfig",
      push({ authentication: { scheme: "Bearer", credentials: "a\nb" } }),
    ],
    [
      "configuration.taskPushNotificationConfig.token must be printable ASCII.",
      "SendMessage",
      send({}, { taskPushNotificationConfig: { url: "https://hooks.example", token: "\0" } }),
    ],
    ["taskId must be a string.", "GetTaskPushNotificationConfig", { id: "c" }],
    ['message.role must be "user".', "message/send", oldSend({ role: "agent" })],
    ['message.parts[0].kind must be "text", "file" or "data".', "message/send", oldSend({ parts: [{ text: "x" }] })],
    [
      "message.parts[0] must have the member that its kind names.",
      "message/send",
      oldSend({ parts: [{ kind: "text", data: {} }] }),
    ],
    [
      'message.parts[0].file must have exactly one of "bytes", "uri".',
      "message/send",
      oldSend({ parts: [{ kind: "file", file: { bytes: "", uri: "x" } }] }),
    ],
    ["message.parts[0].data must be an object.", "message/send", oldSend({ parts: [{ kind: "data", data: [] }] })],
    ["configuration.blocking must be true or false.", "message/send", oldSend({}, { blocking: "no" })],
    [
      "pushNotificationConfig.authentication.schemes must name a scheme.",
      "tasks/pushNotificationConfig/set",
      oldPush({ authentication: { schemes: [] } }),
    ],
    ["pushNotificationConfigId must be a string.", "tasks/pushNotificationConfig/delete", { id: "t" }],
  ])("%s", (sentence, method, params) => {
    expect(sentenceOf(method, params)).toBe(sentence);
  });

  it("every field, for a program", () => {
    const params = send({ role: "user", parts: [{}] }, { historyLength: -1 });
    expect(() => readParams("SendMessage", params)).toThrow(
      expect.objectContaining({
        extras: {
          violations: [
            { field: "message.role", description: 'must be "ROLE_USER"' },
            { field: "message.parts[0]", description: 'must have exactly one of "text", "raw", "url", "data"' },
            { field: "configuration.historyLength", description: "must be an integer of at least 0" },
          ],
        },
      }),
    );
  });

  it("a list of too many, of which none is looked at", () => {
    const many = Array<null>(400_000).fill(null);
    for (const field of ["parts", "extensions", "referenceTaskIds"]) {
      expect(() => readParams("SendMessage", send({ [field]: many }))).toThrow(
        `message.${field} must have at most 1000 entries.`,
      );
    }
    const parts = Array<object>(1000).fill({ text: "x" });
    expect(readParams("SendMessage", send({ parts }))).toMatchObject({ message: { parts } });
  });

  it("a number that was sent as another", () => {
    expect(() => readParams("GetTask", { id: "t" }, true)).toThrow(/cannot be kept exactly/);
  });
});

describe("a query", () => {
  it("becomes values only where it says them", () => {
    const query = "pageSize=07&historyLength=1.0&includeArtifacts=true&contextId=5&id=true&__proto__=x";
    expect(JSON.stringify(paramsOf(new URLSearchParams(query)))).toBe(
      '{"pageSize":7,"historyLength":"1.0","includeArtifacts":true,"contextId":"5","id":"true","__proto__":"x"}',
    );
  });
});

// What the SDK makes of params that were let through: never something else than they say.

/** A message that fits, with some value of it replaced by any JSON at all, or taken away. */
const disturbed = (base: object): fc.Arbitrary<object> => {
  const places: (readonly string[])[] = [];
  const walk = (value: unknown, path: readonly string[]): void => {
    if (path.length > 0) places.push(path);
    if (typeof value === "object" && value !== null)
      for (const [key, below] of Object.entries(value)) walk(below, [...path, key]);
  };
  walk(base, []);
  const values = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>("", "false", "0", 0, null, [], {}, "aGk=", "ROLE_USER", "user", undefined),
  );
  return fc.tuple(fc.constantFrom(...places), values).map(([path, value]) => {
    const copy = structuredClone(base) as Wire;
    const holder = path.slice(0, -1).reduce((at, key) => at[key], copy);
    if (value === undefined) delete holder[path.at(-1) ?? ""];
    else holder[path.at(-1) ?? ""] = value;
    return copy as object;
  });
};

/** Without what ProtoJSON leaves out; what callers wrote themselves stays. */
function essential(value: Wire, own = false): Wire {
  if (own || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => essential(item));
  const members = Object.entries(value).map(([key, below]) => {
    if (key === "raw") return [key, Buffer.from(String(below), "base64").toString("hex")];
    return [key, essential(below, key === "metadata" || key === "data")];
  });
  const isNothing = (below: unknown, key: unknown): boolean =>
    (below ?? null) === null ||
    (!["text", "raw", "data"].includes(String(key)) &&
      (below === "" || below === false || (Array.isArray(below) && below.length === 0)));
  return Object.fromEntries(members.filter(([key, below]) => !isNothing(below, key)));
}

const everything = {
  ...send(
    {
      parts: [{ text: "a" }, { raw: "aGk=", filename: "f", mediaType: "m" }, { url: "u" }, { data: { a: 1 } }],
      taskId: "t",
      contextId: "c",
      extensions: ["e"],
      referenceTaskIds: ["r"],
      metadata: { k: 1 },
    },
    {
      acceptedOutputModes: ["m"],
      historyLength: 3,
      returnImmediately: true,
      taskPushNotificationConfig: {
        id: "p",
        taskId: "t",
        url: "u",
        token: "k",
        authentication: { scheme: "s", credentials: "c" },
      },
    },
  ),
  metadata: { k: 2 },
};

const oldEverything = oldSend(
  {
    parts: [
      { kind: "text", text: "a" },
      { kind: "file", file: { bytes: "aGk=", name: "f", mimeType: "m" }, metadata: {} },
      { kind: "file", file: { uri: "u" } },
      { kind: "data", data: { a: 1 }, metadata: { data_part_compat: true } },
    ],
    taskId: "t",
    contextId: "c",
    extensions: ["e"],
    referenceTaskIds: ["r"],
    metadata: { k: 1 },
  },
  {
    acceptedOutputModes: ["m"],
    historyLength: 3,
    blocking: true,
    pushNotificationConfig: { id: "p", url: "u", token: "k", authentication: { schemes: ["s"], credentials: "c" } },
  },
);

/** A handler that keeps what it was asked. */
function keeping() {
  const asked: Wire[] = [];
  const handler = {
    sendMessage: async (request: Wire) => {
      asked.push(request);
      return taskOf("t1");
    },
  } as unknown as A2ARequestHandler;
  return { asked, handler };
}

const isFit = (method: Method, params: unknown): boolean => sentenceOf(method, params) === "fits";

describe("what is let through", () => {
  it("the SDK's decoder of 1.0 reads as it is", () => {
    let through = 0;
    fc.assert(
      fc.property(disturbed(everything), (params) => {
        fc.pre(isFit("SendMessage", params));
        through++;
        const read = readParams("SendMessage", params);
        const decoded = SendMessageRequest.toJSON(SendMessageRequest.fromJSON(read));
        expect(essential(decoded)).toEqual(essential(read));
      }),
      { numRuns: 300, maxSkipsPerRun: 1_000 },
    );
    expect(through).toBeGreaterThan(100);
  });

  it("the SDK's transport of 0.3 takes, each part for what it is", async () => {
    const kinds: Record<string, string> = { text: "text", data: "data" };
    await fc.assert(
      fc.asyncProperty(disturbed(oldEverything), async (params) => {
        fc.pre(isFit("message/send", params));
        const read = readParams("message/send", params) as Wire;
        const { asked, handler } = keeping();
        const answer = await new LegacyJsonRpcTransportHandler(handler).handle(
          { jsonrpc: "2.0", id: 1, method: "message/send", params: read },
          new ServerCallContext(),
        );
        expect(answer).not.toHaveProperty("error");
        const [{ message: core, configuration }] = asked;
        expect([core.role, core.messageId]).toEqual([1, read.message.messageId]);
        expect(core.parts.map(({ content }: Wire) => content.$case)).toEqual(
          read.message.parts.map((part: Wire) => kinds[part.kind] ?? (part.file.bytes === undefined ? "url" : "raw")),
        );
        expect(configuration?.returnImmediately).toBe(read.configuration && !read.configuration.blocking);
        expect(["undefined", "number"]).toContain(typeof configuration?.historyLength);
      }),
      { numRuns: 200, maxSkipsPerRun: 1_000 },
    );
  });

  it("both transports take without an error of their own, whatever the params were before", async () => {
    const methods = ["SendMessage", "GetTask", "ListTasks", "tasks/get", "tasks/cancel", "message/send"] as const;
    const anything = fc.dictionary(
      fc.constantFrom(
        "id",
        "message",
        "taskId",
        "historyLength",
        "pageSize",
        "status",
        "configuration",
        "metadata",
        "",
      ),
      fc.jsonValue(),
    );
    const task = async () => taskOf("t");
    const handler = {
      sendMessage: task,
      getTask: task,
      cancelTask: task,
      listTasks: async () => ({ tasks: [], nextPageToken: "", pageSize: 1, totalSize: 0 }),
    } as unknown as A2ARequestHandler;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...methods), anything, async (method, params) => {
        fc.pre(isFit(method, params));
        const Transport = method.includes("/") ? LegacyJsonRpcTransportHandler : JsonRpcTransportHandler;
        const request = { jsonrpc: "2.0", id: 1, method, params: readParams(method, params) };
        expect(await new Transport(handler).handle(request, new ServerCallContext())).not.toHaveProperty("error");
      }),
      { numRuns: 50, maxSkipsPerRun: 1_000 },
    );
  });
});
