// What workers elsewhere do over the store API, as clients of the protocol see it; and what servers keep there.
import { describe, expect, it } from "vitest";
import { parseEnv } from "../../src/env";
import { remoteTool } from "../../src/tool/remote-tool";
import { NAMESPACES } from "../kit/memory-subject";
import { connect } from "../support/legacy";
import { serve, withTasks, type Wire } from "../support/mcp";
import { remote } from "../support/remote";

const form = {
  method: "elicitation/create",
  params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } },
};
const ACCEPT = { action: "accept", content: {} };
const RESULT = { content: [{ type: "text", text: "Rendered." }] };

/** The whole app. On this machine nobody is asked who it is, and may be a client and a worker. */
async function served() {
  const server = await serve([remoteTool(remote({ asks: ["form"], maxAttempts: 3 }))], {
    config: { namespaces: NAMESPACES },
    limits: { pollIntervalMs: 20 },
  });
  const capabilities = { ...withTasks, elicitation: {} };
  const call = async (method: string, params: Wire): Promise<Wire> => server.call(method, params, { capabilities });
  const get = async (taskId: string): Promise<Wire> => (await call("tasks/get", { taskId })).result;
  const store = async (method: string, path: string, body?: object): Promise<Wire> => {
    const init = { method, headers: { "Content-Type": "application/json" } };
    const response = await server.app.request(`http://localhost/store/v1${path}`, {
      ...init,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: await response.json() };
  };
  /** A task that a client made and a worker has claimed. */
  const claimed = async () => {
    const taskId = (await call("tools/call", { name: "render", arguments: { frames: 1 } })).result.taskId as string;
    const wish = { claimId: taskId, waitMs: 30_000, leaseMs: 600_000 };
    const { claims } = (await store("POST", "/queues/gpu/claims", wish)).body;
    expect(claims).toMatchObject([{ taskId, arguments: { frames: 1 } }]);
    const { lease } = claims[0];
    const tell = async (act: string, more: object = {}): Promise<Wire> =>
      (await store("POST", `/work/${taskId}/${act}`, { lease, ...more })).body;
    return { taskId, tell, get: () => get(taskId) };
  };
  return { server, call, store, claimed };
}

describe("a task whose work is done elsewhere", () => {
  it("B13 is on the wire of 2026-07-28 what any task is, from its handle to its end", async () => {
    const { call, claimed } = await served();
    const { taskId, tell, get } = await claimed();
    expect(await get()).toMatchObject({ resultType: "complete", taskId, status: "working", ttlMs: expect.any(Number) });
    await tell("progress", { progress: { message: "Half." } });
    expect((await get()).statusMessage).toBe("Half.");
    await tell("ask", { questions: { which: form } });
    const asking = await get();
    expect(asking).toMatchObject({ status: "input_required", inputRequests: expect.any(Object) });
    const [key = ""] = Object.keys(asking.inputRequests);
    expect(asking.inputRequests[key]).toEqual(form);
    const acked = await call("tasks/update", { taskId, inputResponses: { [key]: ACCEPT } });
    expect(acked.result).toMatchObject({ resultType: "complete" });
    expect(await get()).toMatchObject({ status: "working" });
    expect(await tell("heartbeat")).toMatchObject({ kind: "held", answers: { which: ACCEPT } });
    expect(await tell("complete", { result: RESULT })).toMatchObject({ kind: "settled" });
    expect(await get()).toMatchObject({ status: "completed", result: RESULT });
    // What is settled takes no answer and no cancel any more.
    await call("tasks/update", { taskId, inputResponses: { [key]: ACCEPT } });
    await call("tasks/cancel", { taskId });
    expect(await get()).toMatchObject({ status: "completed", result: RESULT });
    const other = `${taskId.startsWith("A") ? "B" : "A"}${taskId.slice(1)}`;
    const missing = await call("tasks/get", { taskId: other });
    expect(missing.error.code).toBe(-32602);
  });

  it("D15 fails with the code of a protocol error; an exception is a result that says so; questions and cancels pass", async () => {
    const { server, call, claimed } = await served();
    const refused = await claimed();
    const error = { code: -32602, message: "No such scene.", data: { scene: 7 } };
    await refused.tell("fail", { error });
    expect(await refused.get()).toMatchObject({ status: "failed", error });

    const broken = await claimed();
    const result = { content: [{ type: "text", text: "Out of memory." }], isError: true };
    await broken.tell("complete", { result });
    expect(await broken.get()).toMatchObject({ status: "completed", result });
    // The revision before calls that failed.
    const legacy = await connect(server, { capabilities: { tasks: {} } });
    expect((await legacy.call("tasks/get", { taskId: broken.taskId })).result).toMatchObject({ status: "failed" });

    const asking = await claimed();
    await asking.tell("ask", { questions: { which: form } });
    expect(Object.values((await asking.get()).inputRequests)).toEqual([form]);

    const stopped = await claimed();
    await call("tasks/cancel", { taskId: stopped.taskId });
    expect(await stopped.tell("heartbeat")).toMatchObject({ kind: "cancelled" });
    expect(await stopped.get()).toMatchObject({ status: "cancelled" });
  });
});

describe("an agent's task, kept as documents", () => {
  const states = [
    { status: { state: "submitted" } },
    { status: { state: "working" }, history: [{ role: "agent" }] },
    { status: { state: "input-required", message: { parts: [{ kind: "text", text: "Which?" }] } } },
    { status: { state: "working" } },
    { status: { state: "completed" }, artifacts: [{ parts: [{ kind: "text", text: "Done." }] }] },
  ];

  it("T6 goes through the store with its whole life, and each state is read before the next", async () => {
    const { store } = await served();
    const path = "/namespaces/files/records/task%2F1";
    for (const [nth, state] of states.entries()) {
      const document = { id: "task/1", ...state };
      expect((await store("PUT", path, { document })).status).toBe(nth === 0 ? 201 : 200);
      expect((await store("GET", path)).body).toMatchObject({ version: nth + 1, document });
    }
    const { revisions } = (await store("GET", `${path}/revisions`)).body;
    expect(revisions.map(({ document }: Wire) => document)).toEqual(
      states.toReversed().map((state) => ({ id: "task/1", ...state })),
    );
    const failed = { id: "task/2", status: { state: "failed", message: { parts: [{ kind: "text", text: "No." }] } } };
    await store("PUT", "/namespaces/files/records/task%2F2", { document: failed });
    expect((await store("GET", "/namespaces/files/records/task%2F2")).body.document).toEqual(failed);
  });
});

describe("whose tasks a caller sees", () => {
  const AUTH_TOKENS = JSON.stringify([{ sha256: "0".repeat(64), subject: "s", scopes: ["client"] }]);

  it("A12 is strict unless a setting says otherwise, and leniency is refused beside anonymous callers", () => {
    expect(parseEnv({ AUTH_TOKENS }).limits.scoping).toBe("strict");
    expect(parseEnv({ AUTH_TOKENS, TASK_SCOPING: "lenient" }).limits.scoping).toBe("lenient");
    for (const open of [{}, { AUTH_TOKENS, ALLOW_ANONYMOUS: "true" }])
      expect(() => parseEnv({ ...open, TASK_SCOPING: "lenient" })).toThrow(/TASK_SCOPING/);
  });
});
