import { describe, expect, it } from "vitest";
import { defineTool } from "../../../src/tool/define-tool";
import type { Ask, CallContext, TaskContext } from "../../../src/tool/context";
import { serve, until, withEverything, type Served, type Wire } from "../../support/mcp";

const form = (property: string): Ask => ({
  kind: "form",
  message: `Your ${property}?`,
  schema: { type: "object", properties: { [property]: { type: "string" } }, required: [property] },
});
const accept = (content: object) => ({ action: "accept", content });

/** Asks for a name, then for a city, in one plain call. */
const interview = defineTool({
  name: "interview",
  description: "Asks twice.",
  input: { type: "object" },
  task: "forbidden",
  asks: ["form"],
  async run(_args, { ask }: TaskContext) {
    const { name } = await ask({ name: form("name") });
    const { city } = await ask({ city: form("city") });
    return JSON.stringify([name, city]);
  },
});

/** Asks before a task exists; the task then asks under the same key. */
const prepared = defineTool({
  name: "prepared",
  description: "Asks, then becomes a task that asks.",
  input: { type: "object" },
  task: "optional",
  asks: ["form"],
  prepare: async (_args, { ask }: CallContext) => (await ask({ name: form("name") })).name,
  async run(_args, { ask, prepared: before, id }: TaskContext) {
    if (id === null) return JSON.stringify(before);
    const { name } = await ask({ name: form("name") });
    return JSON.stringify([before, name]);
  },
});

const capabilities = { elicitation: {} };
const interviewed = (served: Served, params: object = {}, options: object = {}): Promise<Wire> =>
  served.call(
    "tools/call",
    { name: "interview", arguments: { a: 1, b: { c: 2, d: 3 } }, ...params },
    { capabilities, ...options },
  );

describe("a plain call that asks (patterns MRTR)", () => {
  it("is answered with its question and a state, and no task (golden)", async () => {
    const { result } = await interviewed(await serve([interview]));
    expect(result).toEqual({
      resultType: "input_required",
      inputRequests: {
        name: {
          method: "elicitation/create",
          params: {
            mode: "form",
            message: "Your name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
          },
        },
      },
      requestState: expect.stringMatching(/^[\w-]+$/),
      _meta: { "io.modelcontextprotocol/serverInfo": expect.anything() },
    });
  });

  it("goes round by round: each brings only its own answers, and the state the earlier ones", async () => {
    const served = await serve([interview]);
    const first = (await interviewed(served)).result;
    const second = (
      await interviewed(
        served,
        { inputResponses: { name: accept({ name: "Ada" }) }, requestState: first.requestState },
        { id: 2 },
      )
    ).result;
    expect(Object.keys(second.inputRequests)).toEqual(["city"]);
    expect(second.requestState).not.toBe(first.requestState);
    const done = (
      await interviewed(
        served,
        { inputResponses: { city: accept({ city: "Rome" }) }, requestState: second.requestState },
        { id: 3 },
      )
    ).result;
    expect(done.resultType).toBe("complete");
    expect(JSON.parse(done.content[0].text)).toEqual([accept({ name: "Ada" }), accept({ city: "Rome" })]);
  });

  it("takes all answers at once without a state", async () => {
    const inputResponses = { name: accept({ name: "Ada" }), city: { action: "decline" }, extra: { ignored: true } };
    const { result } = await interviewed(await serve([interview]), { inputResponses });
    expect(JSON.parse(result.content[0].text)).toEqual([accept({ name: "Ada" }), { action: "decline" }]);
  });

  it.each<[string, object]>([
    ["missing", {}],
    ["under another key", { other: accept({ name: "Ada" }) }],
    ["no object", { name: "Ada" }],
    ["of an unknown action", { name: { action: "maybe" } }],
    ["outside the schema", { name: accept({ name: 5 }) }],
  ])("asks again when the answer is %s", async (_, inputResponses) => {
    const served = await serve([interview]);
    const { requestState } = (await interviewed(served)).result;
    const { result } = await interviewed(served, { inputResponses, requestState });
    expect(result.resultType).toBe("input_required");
    const [key] = Object.keys(result.inputRequests);
    const { result: next } = await interviewed(served, {
      inputResponses: { [key as string]: accept({ name: "Ada" }) },
      requestState: result.requestState,
    });
    expect(Object.keys(next.inputRequests)).toEqual(["city"]);
  });

  it("keeps what an earlier round settled", async () => {
    const served = await serve([interview]);
    const first = (await interviewed(served)).result;
    const second = (
      await interviewed(served, { inputResponses: { name: accept({ name: "Ada" }) }, requestState: first.requestState })
    ).result;
    const inputResponses = { name: accept({ name: "Eve" }), city: accept({ city: "Rome" }) };
    const { result } = await interviewed(served, { inputResponses, requestState: second.requestState });
    expect(JSON.parse(result.content[0].text)[0]).toEqual(accept({ name: "Ada" }));
  });

  it("does not ask who cannot answer", async () => {
    const { error } = await interviewed(await serve([interview]), {}, { capabilities: { elicitation: { url: {} } } });
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
  });

  it("holds the capabilities of the run against what it really asks", async () => {
    const silent = defineTool({
      ...interview,
      input: { type: "object" },
      asks: [],
      run: async (_: unknown, { ask }: TaskContext) => JSON.stringify(await ask({ name: form("name") })),
    });
    const response = await (await serve([silent])).send("tools/call", { name: "interview" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    });
  });
});

describe("requestState", () => {
  const refused = async (served: Served, params: object, options: object = {}): Promise<void> => {
    const response = await served.send(
      "tools/call",
      { name: "interview", arguments: { a: 1, b: { c: 2, d: 3 } }, ...params },
      { capabilities, ...options },
    );
    expect([response.status, ((await response.json()) as Wire).error?.code]).toEqual([200, -32602]);
  };

  it("is refused when it is none of ours, or altered anywhere", async () => {
    const served = await serve([interview]);
    const { requestState } = (await interviewed(served)).result;
    await refused(served, { requestState: "" });
    await refused(served, { requestState: "nonsense" });
    for (const at of [0, 10, requestState.length >> 1, requestState.length - 1]) {
      const other = requestState[at] === "A" ? "B" : "A";
      await refused(served, { requestState: requestState.slice(0, at) + other + requestState.slice(at + 1) });
    }
  });

  it("is refused for another tool, and for other arguments", async () => {
    const served = await serve([interview, defineTool({ ...interview, input: { type: "object" }, name: "other" })]);
    const { requestState } = (await interviewed(served)).result;
    await refused(served, { requestState, name: "other" });
    await refused(served, { requestState, arguments: { a: 2, b: { c: 2, d: 3 } } });
    await refused(served, { requestState, arguments: { a: 1, b: [] } });
  });

  it("is taken when the client wrote the same arguments in another order", async () => {
    const served = await serve([interview]);
    const { requestState } = (await interviewed(served)).result;
    const { result } = await interviewed(served, { requestState, arguments: { b: { d: 3, c: 2 }, a: 1 } });
    expect(result.resultType).toBe("input_required");
  });

  it("is refused from another caller", async () => {
    const served = await serve([interview], { owners: ["owner-a", "owner-b"] });
    const { requestState } = (await interviewed(served, {}, { token: "owner-a" })).result;
    await refused(served, { requestState }, { token: "owner-b" });
    expect((await interviewed(served, { requestState }, { token: "owner-a" })).result.resultType).toBe(
      "input_required",
    );
  });

  it("is refused after an hour", async () => {
    const served = await serve([interview]);
    const { requestState } = (await interviewed(served)).result;
    served.advance(3_599_000);
    expect((await interviewed(served, { requestState })).result.resultType).toBe("input_required");
    served.advance(2_000);
    await refused(served, { requestState });
  });
});

describe("a tool that asks before its task exists", () => {
  const prep = (served: Served, params: object, options: object = {}): Promise<Wire> =>
    served.call(
      "tools/call",
      { name: "prepared", arguments: {}, ...params },
      { capabilities: withEverything, ...options },
    );

  it("is no task in the first round, and a handle without state in the second (sep-2663)", async () => {
    const served = await serve([prepared]);
    const first = (await prep(served, {})).result;
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: { name: { method: "elicitation/create" } },
    });
    expect(first).not.toHaveProperty("taskId");
    const second = (
      await prep(served, { inputResponses: { name: accept({ name: "Ada" }) }, requestState: first.requestState })
    ).result;
    expect(second).toMatchObject({ resultType: "task", status: "working" });
    expect(second).not.toHaveProperty("requestState");
    expect(second).not.toHaveProperty("inputRequests");

    const { taskId } = second;
    const get = async (): Promise<Wire> =>
      (await served.call("tasks/get", { taskId }, { capabilities: withEverything })).result;
    // The task's keys are a namespace of their own: its "name" is not answered by the call's.
    expect((await until(get, ({ status }) => status !== "working")).inputRequests).toHaveProperty("name");
    await served.call(
      "tasks/update",
      { taskId, inputResponses: { name: accept({ name: "Bob" }) } },
      { capabilities: withEverything },
    );
    const done = await until(get, ({ status }) => status === "completed");
    expect(JSON.parse(done.result.content[0].text)).toEqual([accept({ name: "Ada" }), accept({ name: "Bob" })]);
  });

  it("has what was prepared also in a plain call", async () => {
    const served = await serve([defineTool({ ...prepared, input: { type: "object" }, task: "forbidden" })]);
    const { result } = await prep(served, { inputResponses: { name: accept({ name: "Ada" }) } }, { capabilities });
    expect(JSON.parse(result.content[0].text)).toEqual(accept({ name: "Ada" }));
  });

  it("behind a held call: an answer without a state is the call's, and not also the task's", async () => {
    const served = await serve([prepared]);
    const first = (await prep(served, { inputResponses: { name: accept({ name: "Ada" }) } }, { capabilities })).result;
    expect(first).toMatchObject({ resultType: "input_required", inputRequests: { name: {} } });
    const { requestState } = first;
    const inputResponses = { name: accept({ name: "Bob" }) };
    const done = (await prep(served, { inputResponses, requestState }, { capabilities })).result;
    expect(JSON.parse(done.content[0].text)).toEqual([accept({ name: "Ada" }), accept({ name: "Bob" })]);
  });

  it("is refused where nobody can answer: there is no task yet whose question a helper could show", async () => {
    const response = await (await serve([prepared])).send("tools/call", { name: "prepared" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: -32021 } });
  });

  it("behind a held call: the call's answer is not the task's, though both have one key", async () => {
    const served = await serve([prepared], { owners: ["owner-a"] });
    const options = { capabilities, token: "owner-a", headers: { "Idempotency-Key": "k" } };
    const first = (await prep(served, {}, options)).result;
    const second = (
      await prep(
        served,
        { inputResponses: { name: accept({ name: "Ada" }) }, requestState: first.requestState },
        options,
      )
    ).result;
    expect(second).toMatchObject({ resultType: "input_required", inputRequests: { name: {} } });
    // The second round again, as a client that lost its answer sends it.
    const repeated = (
      await prep(
        served,
        { inputResponses: { name: accept({ name: "Ada" }) }, requestState: first.requestState },
        options,
      )
    ).result;
    expect(repeated).toMatchObject({ resultType: "input_required", inputRequests: { name: {} } });
    const third = (
      await prep(
        served,
        { inputResponses: { name: accept({ name: "Bob" }) }, requestState: repeated.requestState },
        options,
      )
    ).result;
    expect(JSON.parse(third.content[0].text)).toEqual([accept({ name: "Ada" }), accept({ name: "Bob" })]);
  });
});
