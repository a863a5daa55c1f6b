// One task over both protocols: made over one, it is read, answered and cancelled over the other.
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { connectTasksClient } from "../../scripts/support/tasks-client";
import type { Wire } from "../support/mcp";
import { connectA2a, textOf as artifactText } from "./a2a-sdk-client";
import { connectDoors, connectLegacy, expectSame, partOf, read, type Doors } from "./a2a-doors";
import { a2aWire, collected, FACTS, heardIn, newsOf, saidBy, stateOf, textOf } from "./a2a-wire";
import { moveClock, runCron } from "./fixture-clock";
import { beginTask, textOf as resultText } from "./sdk-v1-client";

let server: DevServer;
let doors: Doors;
let a2a: Doors["a2a"];
let modern: Doors["modern"];
let sdk: Doors["sdk"];
beforeAll(async () => {
  server = await startDevServer({ env: "owners", vars: { TASK_POLL_INTERVAL_MS: "250" } });
  doors = await connectDoors(server);
  ({ a2a, modern, sdk } = doors);
});
afterAll(async () => {
  await sdk.close();
  await server.stop();
});

type Begin = (name: string, args: object) => Promise<string>;

const BIRTHS: readonly (readonly [origin: string, begin: Begin])[] = [
  ["a2a/1.0", async (name, args) => (await a2a.begin(name, args)).id],
  ["mcp/2026-07-28", async (name, args) => (await modern("tools/call", { name, arguments: args })).result.taskId],
  ["mcp/2025-11-25", (name, args) => beginTask(sdk, name, args)],
];

/** What a task is called over A2A, and over either revision of MCP. */
type Names = readonly [a2a: string, newest: string, older: string];
type Row = readonly [what: string, tool: string, args: Wire, names: Names, said: string];

const OPEN: readonly Row[] = [
  ["waits for a worker", "remote", { n: 1 }, ["submitted", "working", "working"], ""],
  ["is at work", "slow", { ms: 90_000 }, ["working", "working", "working"], ""],
  ["asks a form", "ask", { keys: ["k"] }, ["input-required", "input_required", "input_required"], "What is k?"],
];
const ENDED: readonly Row[] = [
  ["has a result", "gallery", {}, ["completed", "completed", "completed"], ""],
  ["failed as its tool says", "slow", { ms: 1, isError: true, text: "no" }, ["failed", "completed", "failed"], "no"],
  ["failed with an error", "slow", { ms: 1, rpcError: true, text: "no" }, ["failed", "failed", "failed"], "no"],
  ["was refused", "refuse", {}, ["rejected", "failed", "failed"], "This is refused on purpose."],
];

describe.each(BIRTHS)("a task made over %s", (origin, begin) => {
  it.each(OPEN)("that %s is the same over the others", async (_, tool, args, names, said) => {
    const reading = await read(doors, await begin(tool, args), names[0]);
    const { task, newest, older } = reading;
    expectSame(reading, origin, tool, args);
    expect([stateOf(task), newest.status, older.status]).toEqual(names);
    expect([saidBy(task), newest.statusMessage ?? "", older.statusMessage ?? ""]).toEqual([said, said, said]);
    expect([task.artifacts, newest.result, newest.error]).toEqual([undefined, undefined, undefined]);
    const asked = task.status.message?.parts[1]?.data.inputRequests;
    expect(asked).toEqual(newest.inputRequests);
    expect(asked !== undefined).toBe(names[0] === "input-required");
    await a2a.call("CancelTask", { id: task.id });
  });

  it("that sends somebody to a URL needs authorisation, or input", async () => {
    const reading = await read(doors, await begin("sign_in", {}), "auth-required");
    const { task, newest, older } = reading;
    expectSame(reading, origin, "sign_in", {});
    expect([newest.status, older.status]).toEqual(["input_required", "input_required"]);
    const { inputRequests } = task.status.message.parts[1].data;
    expect(inputRequests).toEqual(newest.inputRequests);
    expect(inputRequests.there.params).toMatchObject({ mode: "url", url: "https://example.com/sign-in" });
    expect(saidBy(task)).toBe("Please sign in.\nhttps://example.com/sign-in");
    await a2a.call("CancelTask", { id: task.id });
  });

  it("says how far it is", async () => {
    const args = { topic: origin, sleepMs: 3_600_000 };
    const id = await begin("durable_report", args);
    const gathered = async () => (await a2a.get(id)).metadata[FACTS].progress?.progress === 2;
    await vi.waitUntil(gathered, { timeout: 55_000, interval: 250 });
    const reading = await read(doors, id, "working");
    const { task, newest, older } = reading;
    expectSame(reading, origin, "durable_report", args);
    const { progress } = task.metadata[FACTS];
    expect(progress).toMatchObject({ progress: 2, total: 2 });
    expect(saidBy(task)).toBe(progress.message);
    expect([newest.statusMessage, older.statusMessage]).toEqual(Array(2).fill(`${progress.message} (100%)`));
    await a2a.call("CancelTask", { id });
  });

  it.each(ENDED)("that %s is the same over the others", async (_, tool, args, names, said) => {
    const reading = await read(doors, await begin(tool, args), names[0]);
    const { task, newest, older } = reading;
    expectSame(reading, origin, tool, args);
    expect([stateOf(task), newest.status, older.status]).toEqual(names);
    expect(saidBy(task)).toBe(said);
    const result = sdk.experimental.tasks.getTaskResult(task.id, CallToolResultSchema);
    if (newest.status === "failed") {
      expect(task.artifacts).toBeUndefined();
      expect(newest.error.message).toBe(said);
      expect([newest.statusMessage, older.statusMessage]).toEqual([said, said]);
      const { code } = newest.error;
      expect(task.status.message.metadata?.code).toBe(names[0] === "failed" ? code : undefined);
      await expect(result).rejects.toMatchObject({ code });
      return;
    }
    const { content, structuredContent, isError } = newest.result;
    expect(await result).toMatchObject({ content, ...(isError ? { isError } : {}) });
    expect(isError === true).toBe(names[0] === "failed");
    const data = structuredContent === undefined ? [] : [{ data: structuredContent, mediaType: "application/json" }];
    expect(task.artifacts).toEqual([{ artifactId: "result", parts: [...content.map(partOf), ...data] }]);
  });

  it("is listed over the others", async () => {
    const id = await begin("slow", { ms: 1 });
    await a2a.until(id, "completed");
    const { tasks } = await sdk.experimental.tasks.listTasks();
    expect(tasks[0]).toMatchObject({ taskId: id, status: "completed" });
    const first = async () => (await a2a.call("ListTasks", { pageSize: 1 })).tasks[0];
    await vi.waitUntil(async () => (await first()).id === id);
    const { history, artifacts, ...others } = await a2a.get(id);
    expect([history.length, artifacts.length, await first()]).toEqual([1, 1, others]);
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ["A2A", (id) => a2a.call("CancelTask", { id })],
    ["2026-07-28", (taskId) => modern("tasks/cancel", { taskId })],
    ["2025-11-25", (id) => sdk.experimental.tasks.cancelTask(id)],
  ])("that is cancelled over %s is so over the others", async (_, cancel) => {
    const args = { ms: 90_000 };
    const id = await begin("slow", args);
    await a2a.until(id, "working");
    await cancel(id);
    const reading = await read(doors, id, "canceled");
    expectSame(reading, origin, "slow", args);
    expect([reading.newest.status, reading.older.status]).toEqual(["cancelled", "cancelled"]);
  });
});

describe("a question", () => {
  const accept = (content: object) => ({ action: "accept", content });

  it.each(BIRTHS.slice(1))("asked over %s is answered over A2A, in words", async (_, begin) => {
    const id = await begin("ask", { keys: ["k"] });
    await a2a.until(id, "input-required");
    const done = await a2a.send({ content: "blue", taskId: id }, { wait: true });
    expect(JSON.parse(textOf(done))).toEqual({ k: accept({ v: "blue" }) });
    expect((await modern("tasks/get", { taskId: id })).result.result.content[0].text).toBe(textOf(done));
    expect(heardIn(done).slice(1)).toEqual(["agent: What is k?", "user: blue"]);
  });

  it("asked over A2A is answered over 2026-07-28, some of it and the rest over A2A", async () => {
    const { id } = await a2a.begin("ask", { keys: ["k1", "k2"] }, { wait: true });
    await modern("tasks/update", { taskId: id, inputResponses: { k1: accept({ v: "one" }) } });
    const { newest } = await read(doors, id, "input-required");
    expect(Object.keys(newest.inputRequests)).toEqual(["k2"]);
    const done = await a2a.send({ content: "two", taskId: id }, { wait: true });
    expect(JSON.parse(textOf(done))).toEqual({ k1: accept({ v: "one" }), k2: accept({ v: "two" }) });
  });

  it("asked over A2A is answered by the user of a client of 2025-11-25 who waits for the result", async () => {
    // As an owner of whom nobody else looks after the forms.
    const [theirs, client] = [a2aWire(server, "1.0", "owner-b"), await connectLegacy(server, { token: "owner-b" })];
    const { id } = await theirs.begin("ask", { keys: ["k"] }, { wait: true });
    const result = await client.experimental.tasks.getTaskResult(id, CallToolResultSchema);
    expect(JSON.parse(resultText(result))).toEqual({ k: accept({ v: "Alice" }) });
    expect(textOf(await theirs.get(id))).toBe(resultText(result));
    await client.close();
  });

  it("that leads to a URL is answered over either", async () => {
    const [first, second] = [
      await a2a.begin("sign_in", {}, { wait: true }),
      await a2a.begin("sign_in", {}, { wait: true }),
    ];
    await modern("tasks/update", { taskId: first.id, inputResponses: { there: { action: "accept" } } });
    await a2a.send({ content: "I am back.", taskId: second.id });
    for (const { id } of [first, second])
      expect(JSON.parse(textOf(await a2a.until(id, "completed")))).toEqual({ action: "accept" });
  });

  it("for arguments that were left out in words is answered over 2026-07-28", async () => {
    const more = { metadata: { skillId: "slow_compute" } };
    const { id } = await a2a.send({ content: "Compute something.", more }, { wait: true });
    const { newest } = await read(doors, id, "input-required");
    const [asking] = Object.entries<Wire>(newest.inputRequests);
    const [key, asked] = asking as [string, Wire];
    expect(asked.params.requestedSchema).toMatchObject({ required: ["seconds"] });
    await modern("tasks/update", { taskId: id, inputResponses: { [key]: accept({ seconds: 0 }) } });
    expect(textOf(await a2a.until(id, "completed"))).toBe("Computed it in 0 s.");
  });
});

describe("the official clients", () => {
  it("of either protocol take up what was begun over the other", async () => {
    const { client, session } = await connectTasksClient(`${server.url}/mcp`, { token: "owner-a" });
    const execution = await session.callTool("slow", { ms: 1_000, text: "begun over MCP" });
    if (execution.kind !== "task") throw new Error("This should have become a task.");
    const reference = execution.serializeReference();
    await execution.handoff(() => {});
    const agent = await connectA2a(server.url, "JSONRPC");
    const id = JSON.stringify(reference).match(/"taskId":"([\w-]{43})"/)?.[1] ?? "";
    let last: string | undefined;
    for await (const { payload } of agent.resubscribeTask({ tenant: "", id })) last = payload?.$case;
    expect(last).toBe("statusUpdate");
    expect(artifactText(await agent.getTask({ tenant: "", id }))).toBe("begun over MCP");

    const begun = await a2a.begin("slow", { ms: 1_000, text: "begun over A2A" });
    const other = JSON.parse(JSON.stringify(reference).replaceAll(id, begun.id)) as typeof reference;
    const { outcome } = await (await session.resumeTask(other)).settle();
    expect(outcome).toMatchObject({ status: "completed", result: { content: [{ text: "begun over A2A" }] } });
    await session.close();
    await client.close();
  });
});

describe("when their time is over", () => {
  it("tasks of either are told to have failed, and are found over neither", async () => {
    const ids = await Promise.all(BIRTHS.map(([, begin]) => begin("remote", { n: 2 })));
    const streams = await Promise.all(ids.map((id) => a2a.request("SubscribeToTask", { id })));
    const events = streams.map(collected);
    await moveClock(server, 31 * 86_400_000);
    await runCron(server);
    for (const told of await Promise.all(events)) expect(newsOf(told.at(-1))).toBe("failed");
    // A session of a month ago is over too.
    const client = await connectLegacy(server);
    const later = client.experimental.tasks;
    for (const id of ids) {
      expect((await a2a.answer("GetTask", { id })).error.code).toBe(-32001);
      expect((await modern("tasks/get", { taskId: id })).error.code).toBe(-32602);
      await expect(later.getTask(id)).rejects.toMatchObject({ code: -32602 });
    }
    const listed = [...(await a2a.call("ListTasks", {})).tasks, ...(await later.listTasks()).tasks];
    expect(ids.filter((id) => JSON.stringify(listed).includes(id))).toEqual([]);
    await client.close();
  });
});
