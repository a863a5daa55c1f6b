import { expect, it } from "vitest";
import type { ReadOptions, TaskStore } from "../../src/service/task-store";
import { ARGUMENTS_KEY } from "../../src/task/task";
import { defineTool } from "../../src/tool/define-tool";
import { registerTool } from "../../src/tool/registry";
import { connect } from "../support/legacy";
import { serve, withTasks } from "../support/mcp";

const principal = {
  kind: "identified",
  issuer: "holdfast:token",
  subject: "a",
  scopes: ["client"],
  expiresAt: null,
} as const;

const tool = defineTool({
  name: "tool",
  description: "tool",
  input: { type: "object" },
  task: "optional",
  prepare: () => "secret",
  run: () => "done",
});

const requestedSchema = { type: "object", properties: { v: { type: "string" } } };
const request = { method: "elicitation/create", params: { mode: "form", message: "v?", requestedSchema } } as const;
const target = {
  id: "secret",
  url: "https://secret.example/",
  token: "secret",
  authentication: { scheme: "Bearer", credentials: "secret" },
  wire: "secret",
};

/** What readers of the store asked for. */
function spy() {
  const asked: (ReadOptions | undefined)[] = [];
  const storeFor = (store: TaskStore): TaskStore =>
    new Proxy(store, {
      get(of, name: keyof TaskStore) {
        const method = (of[name] as (...args: readonly unknown[]) => unknown).bind(of);
        if (name !== "read" && name !== "poll") return method;
        return (ref: unknown, options?: ReadOptions) => {
          asked.push(options);
          return method(ref, options);
        };
      },
    });
  return { asked, storeFor };
}

it("shows nothing of what was said over another door and reads none of it, while the task and its question are there", async () => {
  const { asked, storeFor } = spy();
  const served = await serve([tool], { owners: ["a"], storeFor });
  const { task } = await served.tasks.start({
    principal,
    tool: registerTool(tool),
    arguments: { v: "secret" },
    client: { revision: "a2a/1.0", capabilities: {}, principal: null },
    origin: "a2a/1.0",
    contextId: "secret",
    extras: '{"secret":1}',
    unprepared: true,
    missing: { authorKey: ARGUMENTS_KEY, occurrence: 1, request, deadline: Date.now() + 60_000 },
    push: [{ ...target, cursor: 0, failures: 0, retryAt: null, dead: [] }],
  });
  await served.tasks.say(principal, task.id, { id: "m", digest: "d", message: '"secret"' }, null);

  const taskId = task.id;
  const own = { token: "a", capabilities: withTasks };
  const client = await connect(served, { token: "a" });
  const get = await served.call("tasks/get", { taskId }, own);
  expect(get.result).toMatchObject({ status: "input_required", inputRequests: { [ARGUMENTS_KEY]: request } });
  const older = await client.call("tasks/get", { taskId });
  expect(older.result).toMatchObject({ status: "input_required", statusMessage: "v?" });
  const list = await client.call("tasks/list");
  expect(list.result.tasks).toHaveLength(1);
  const inputResponses = { [ARGUMENTS_KEY]: { action: "accept", content: { v: "yes" } } };
  const update = await served.call("tasks/update", { taskId, inputResponses }, own);
  const result = await client.call("tasks/result", { taskId });
  expect(result.result.content).toEqual([{ type: "text", text: "done" }]);
  const cancel = await served.call("tasks/cancel", { taskId }, own);

  for (const answer of [get, older, list, update, result, cancel]) {
    expect(answer.error).toBeUndefined();
    expect(JSON.stringify(answer)).not.toContain("secret");
  }
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((options) => options?.conversation)).toEqual([]);
});
