import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool, ProtocolError } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { form } from "../../fixtures/tools/forms";
import { gate } from "../../support/gate";
import { connect } from "../../support/legacy";
import { serve, until, type Wire } from "../../support/mcp";

const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const progressOf = (messages: readonly Wire[]): Wire[] =>
  messages.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);

describe("a plain call", () => {
  it("is answered with its result, whole JSON where it is quick", async () => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.send("tools/call", { name: "greet", arguments: { name: "you" } }, { id: 3 });
    expect(response.headers.get("content-type")).toBe("application/json");
    const result = { content: [{ type: "text", text: "Hello, you!" }] };
    expect(await response.json()).toEqual({ jsonrpc: "2.0", id: 3, result });
  });

  it("(T6) of an unknown tool is a protocol error, one with bad arguments a result that says what is wrong", async () => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.tool("nope")).error).toMatchObject({ code: -32602, message: expect.stringContaining("nope") });
    const { result } = await client.tool("greet", { name: 5 });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("name") }] });
  });

  it.each<[string, Wire, string]>([
    ["no name", {}, "params.name"],
    ["arguments that are a list", { name: "greet", arguments: [] }, "params.arguments"],
    ["a progress token of the wrong type", { name: "greet", _meta: { progressToken: {} } }, "progressToken"],
  ])("(A07) with %s is -32602 and names the field", async (_, params, named) => {
    const client = await connect(await serve(fixtureTools));
    const { error } = await client.call("tools/call", params);
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(named) });
    expect(error.message.length).toBeLessThan(200);
  });

  it("that ends in a JSON-RPC error gets that error, on 200", async () => {
    const broken = defineTool({
      name: "broken",
      description: "Ends in an error.",
      input: z.object({}),
      task: "forbidden",
      run: () => {
        throw new ProtocolError(-32050, "Broken.", { why: "test" });
      },
    });
    const client = await connect(await serve([broken]));
    const response = await client.send("tools/call", { name: "broken" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: -32050, message: "Broken.", data: { why: "test" } } });
  });

  it("shows nothing of an exception", async () => {
    const throws = defineTool({
      name: "throws",
      description: "Throws.",
      input: z.object({}),
      task: "forbidden",
      run: () => {
        throw new Error("the password is 1234");
      },
    });
    const served = await serve([throws]);
    const answer = await (await connect(served)).tool("throws");
    expect(JSON.stringify(answer)).not.toContain("1234");
    expect(JSON.stringify(served.log)).toContain("1234");
  });
});

describe("progress of a plain call", () => {
  it.each([0, "", "p1", 7])("(D07) carries the token %j as it was given, and rises", async (progressToken) => {
    const client = await connect(await serve(fixtureTools));
    const stream = await client.open("tools/call", { name: "test_tool_with_progress", _meta: { progressToken } });
    await stream.closed;
    const told = progressOf(stream.messages);
    expect(told.map(({ progress, total }) => [progress, total])).toEqual([
      [0, 100],
      [50, 100],
      [100, 100],
    ]);
    for (const params of told) expect(params.progressToken).toStrictEqual(progressToken);
    expect(stream.messages.at(-1).result.content).toHaveLength(1);
  });

  it("(D07) is not sent without a token", async () => {
    const client = await connect(await serve(fixtureTools));
    const response = await client.send("tools/call", { name: "test_tool_with_progress" });
    expect(await response.text()).not.toContain("notifications/progress");
  });
});

describe("logging", () => {
  const levels = async (set?: string, version = "2025-11-25"): Promise<Wire[]> => {
    const client = await connect(await serve([chatty]), { version });
    if (set !== undefined) expect(await client.call("logging/setLevel", { level: set })).toHaveProperty("result", {});
    const text = await (await client.send("tools/call", { name: "chatty" })).text();
    return [...text.matchAll(/"level":"(\w+)"/g)].map((match) => match[1]);
  };
  const chatty = defineTool({
    name: "chatty",
    description: "Logs at several levels.",
    input: z.object({}),
    task: "forbidden",
    run(_, task) {
      for (const level of ["debug", "info", "warning", "error"] as const) task.log(level, `${level}!`, { n: 1 });
      return "said";
    },
  });

  it("sends info and above where no level was set", async () => {
    expect(await levels()).toEqual(["info", "warning", "error"]);
  });

  it.each<[string, string[]]>([
    ["debug", ["debug", "info", "warning", "error"]],
    ["error", ["error"]],
    ["emergency", []],
  ])("sends what %s lets through", async (level, expected) => {
    expect(await levels(level)).toEqual(expected);
    expect(await levels(level, "2025-03-26")).toEqual(expected);
  });

  it("refuses a level that is none with -32602", async () => {
    const client = await connect(await serve([chatty]));
    expect((await client.call("logging/setLevel", { level: "loud" })).error.code).toBe(-32602);
    expect((await client.call("logging/setLevel", {})).error.code).toBe(-32602);
  });

  it("says who logs and what", async () => {
    const client = await connect(await serve([chatty]));
    const stream = await client.open("tools/call", { name: "chatty" });
    expect((await stream.until(({ method }) => method === "notifications/message")).params).toEqual({
      level: "info",
      logger: "chatty",
      data: { n: 1, message: "info!" },
    });
  });
});

describe("a question of a plain call", () => {
  it.each<[string, string, Wire, Wire, string]>([
    [
      "2025-11-25",
      "test_elicitation",
      { message: "Who?" },
      { action: "accept", content: { username: "u", email: "e" } },
      "elicitation/create",
    ],
    ["2025-06-18", "test_elicitation", { message: "Who?" }, { action: "decline" }, "elicitation/create"],
    [
      "2025-03-26",
      "test_sampling",
      { prompt: "Hi" },
      { role: "assistant", model: "m", content: { type: "text", text: "Yo" } },
      "sampling/createMessage",
    ],
    ["2025-11-25", "test_input_required_result_list_roots", {}, { roots: [{ uri: "file:///x" }] }, "roots/list"],
  ])("(1.13) goes out on the call's own stream on %s: %s", async (version, name, args, answer, method) => {
    const client = await connect(await serve(fixtureTools), { version, capabilities: everything });
    const stream = await client.open("tools/call", { name, arguments: args });
    const question = await stream.request();
    expect(question.method).toBe(method);
    expect(question.params).not.toHaveProperty("_meta");
    expect((await client.answer(question, answer)).status).toBe(202);
    await stream.closed;
    const texts = ["u", "decline", "Yo", "file:///x"];
    expect(texts.some((text) => JSON.stringify(stream.messages.at(-1).result).includes(text))).toBe(true);
  });

  it("is asked in rounds, and several at once", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: everything });
    const rounds = await client.open("tools/call", { name: "test_input_required_result_multi_round" });
    await client.answer(await rounds.request(1), { action: "accept", content: { name: "Ann" } });
    await client.answer(await rounds.request(2), { action: "accept", content: { color: "red" } });
    await rounds.closed;
    expect(rounds.messages.at(-1).result.content[0].text).toMatch(/Ann.*red/);

    const several = await client.open("tools/call", { name: "test_input_required_result_multiple_inputs" });
    await several.request(3);
    const asked = several.messages.filter(({ method }) => method !== undefined);
    expect(asked.map(({ method }) => method)).toEqual(["elicitation/create", "sampling/createMessage", "roots/list"]);
    await client.answer(asked[2], { roots: [] });
    await client.answer(asked[1], { role: "assistant", model: "m", content: { type: "text", text: "Hi" } });
    await client.answer(asked[0], { action: "accept", content: { name: "Bo" } });
    await several.closed;
    expect(several.messages.at(-1).result.content[0].text).toMatch(/Bo.*Hi.*roots/);
  });

  it("counts an error for an answer as cancel, of every kind", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: everything });
    const form = await client.open("tools/call", { name: "test_elicitation", arguments: { message: "?" } });
    await client.refuse(await form.request());
    await form.closed;
    expect(form.messages.at(-1).result.content[0].text).toContain('"cancel"');
    const sample = await client.open("tools/call", { name: "test_sampling", arguments: { prompt: "?" } });
    await client.refuse(await sample.request());
    await sample.closed;
    expect(sample.messages.at(-1).result.content[0].text).toBe("LLM response: ");
  });

  it("is asked again, and says why, where the answer does not fit", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: everything });
    const stream = await client.open("tools/call", { name: "test_elicitation", arguments: { message: "Who?" } });
    await client.answer(await stream.request(1), { action: "accept", content: { username: 5, email: "e" } });
    const again = await stream.request(2);
    expect(again.params.message).toMatch(/^Who\?\n\n.*username/s);
    await client.answer(again, { action: "accept", content: { username: "u", email: "e" } });
    await stream.closed;
  });

  it("counts as cancel in the end, where a program answers wrongly for ever", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: everything });
    const stream = await client.open("tools/call", { name: "test_elicitation", arguments: { message: "Who?" } });
    const wrong = { action: "accept", content: { username: 5, email: "e" } };
    let open = true;
    void stream.closed.then(() => (open = false));
    for (let n = 1; open; n += 1) {
      const question = await Promise.race([stream.request(n), stream.closed]);
      if (question) await client.answer(question, wrong);
    }
    expect(stream.messages.at(-1).result.content[0].text).toContain('"cancel"');
  });

  it("takes the first answer", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: everything });
    const stream = await client.open("tools/call", { name: "test_elicitation", arguments: { message: "Who?" } });
    const question = await stream.request();
    const answers = ["first", "second"].map((username) => ({ action: "accept", content: { username, email: "e" } }));
    for (const answer of answers) expect((await client.answer(question, answer)).status).toBe(202);
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toContain("first");
  });

  it("(F04) is not answered by another session or another caller", async () => {
    const served = await serve(fixtureTools, { owners: ["a", "b"] });
    const client = await connect(served, { token: "a", capabilities: everything });
    const stranger = await connect(served, { token: "b", capabilities: everything });
    const stream = await client.open("tools/call", { name: "test_elicitation", arguments: { message: "Who?" } });
    const question = await stream.request();
    const evil = { action: "accept", content: { username: "evil", email: "e" } };
    const answer = { jsonrpc: "2.0", id: question.id, result: evil };
    expect((await stranger.post(answer)).status).toBe(202);
    expect((await stranger.post(answer, { headers: { "Mcp-Session-Id": null } })).status).toBe(202);
    expect((await (await client.again()).post(answer)).status).toBe(202);
    await client.answer(question, { action: "accept", content: { username: "good", email: "e" } });
    await stream.closed;
    expect(stream.messages.at(-1).result.content[0].text).toContain("good");
  });

  it.each<[string, object]>([
    ["2025-11-25", {}],
    ["2025-06-18", { sampling: {} }],
    ["2025-03-26", { elicitation: {} }],
  ])("(N5) is -32601 before anything starts where %s was told %j", async (version, capabilities) => {
    let ran = false;
    const asks = defineTool({
      name: "asks",
      description: "Asks.",
      input: z.object({}),
      task: "forbidden",
      asks: ["form"],
      run: () => ((ran = true), "ran"),
    });
    const client = await connect(await serve([asks]), { version, capabilities });
    expect((await client.tool("asks")).error).toMatchObject({ code: -32601, data: { requiredCapabilities: {} } });
    expect(ran).toBe(false);
  });

  it("cannot be asked of a client that takes no stream: an error says so", async () => {
    const client = await connect(await serve(fixtureTools), { capabilities: everything });
    const params = { name: "test_elicitation", arguments: { message: "?" } };
    const { error } = await client.call("tools/call", params, { headers: { Accept: "application/json" } });
    expect(error).toMatchObject({ code: -32601, message: expect.stringContaining("text/event-stream") });
  });

  it("has a mode and, for a URL, an id of its own on 2025-11-25, and none of that on 2025-06-18", async () => {
    const ask = (kind: "form" | "url") =>
      defineTool({
        name: kind,
        description: "Asks.",
        input: z.object({}),
        task: "forbidden",
        async run(_, task) {
          const url = { kind: "url", message: "Sign in", url: "https://example.com/in" } as const;
          return JSON.stringify(await task.ask({ q: kind === "url" ? url : form("Name?", { n: { type: "string" } }) }));
        },
      });
    const served = await serve([ask("form"), ask("url")]);
    const paramsOf = async (version: string, name: string): Promise<Wire> => {
      const client = await connect(served, { version, capabilities: everything });
      const stream = await client.open("tools/call", { name });
      const question = await stream.request();
      await client.answer(question, { action: "cancel" });
      await stream.closed;
      return question.params;
    };
    const url = await paramsOf("2025-11-25", "url");
    expect(url).toMatchObject({ mode: "url", message: "Sign in", url: "https://example.com/in" });
    expect(url.elicitationId).toMatch(/./);
    expect((await paramsOf("2025-11-25", "form")).mode).toBe("form");
    expect(Object.keys(await paramsOf("2025-06-18", "form")).sort()).toEqual(["message", "requestedSchema"]);
    const older = await connect(served, { version: "2025-06-18", capabilities: everything });
    expect((await older.tool("url")).error.code).toBe(-32601);
  });
});

describe("a plain call that is not wanted any more", () => {
  it("(A16) is stopped by notifications/cancelled, and gets no answer", async () => {
    const { tool, began, stopped } = gate("long", "forbidden");
    const client = await connect(await serve([tool]));
    const stream = await client.open("tools/call", { name: "long" }, { id: "c1" });
    await began;
    let isStopped = false;
    void stopped.then(() => (isStopped = true));
    // In its first second a call is not connected to its session, and goes on.
    await until(
      () => client.notify("notifications/cancelled", { requestId: "c1", reason: "user left" }),
      ({ status }) => status !== 202 || isStopped,
    );
    await stopped;
    await stream.closed;
    expect(stream.messages).toEqual([]);
  });

  it("(1.13) is not stopped by a client that only left", async () => {
    const { tool, began, open, runs } = gate("long", "forbidden", () => {
      finished = true;
      return "through";
    });
    let finished = false;
    const client = await connect(await serve([tool]));
    const stream = await client.open("tools/call", { name: "long" });
    await began;
    await stream.leave();
    open();
    await until(() => finished, Boolean);
    expect(runs()).toBe(1);
  });
});
