import { expect, it } from "vitest";
import { faultsOf } from "../../a2a/shapes";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";
import { begun, said } from "./talk";

/** The shapes, which each answer is read for, here by example (A2A 1.0 §4.1, §5.5–5.7). */
export function dataModel(agent: Agent): void {
  const parked = (): Promise<Wire> => begun(agent, "tck-input-required");

  it("DM-TASK-001 a task has an id and a status", async () => {
    expect(await begun(agent, "tck-complete-task")).toMatchObject({
      id: expect.stringMatching(/./),
      status: { state: "TASK_STATE_COMPLETED" },
    });
  });

  it.each([
    ["tck-complete-task", "TASK_STATE_COMPLETED"],
    ["tck-input-required", "TASK_STATE_INPUT_REQUIRED"],
    ["tck-reject-task", "TASK_STATE_REJECTED"],
    ["login-required", "TASK_STATE_AUTH_REQUIRED"],
  ])("DM-TASK-002 DM-STATUS-001 the state of the task of %s is %s", async (behaviour, state) => {
    const { status } = await begun(agent, behaviour);
    expect(faultsOf(status, "TaskStatus")).toEqual([]);
    expect(status.state).toBe(state);
  });

  it("DM-MSG-001 DM-MSG-002 a message has an id, a role and parts, whoever said it", async () => {
    const { message } = await agent.call("SendMessage", said("tck-message-response"));
    const task = await parked();
    expect([message, task.status.message, ...task.history].map((one) => faultsOf(one, "Message"))).toEqual(
      Array.from({ length: 2 + task.history.length }, () => []),
    );
    expect(message).toMatchObject({ role: "ROLE_AGENT", messageId: expect.stringMatching(/./) });
    expect([task.status.message.role, task.history[0].role]).toEqual(["ROLE_AGENT", "ROLE_USER"]);
  });

  it.each([
    ["tck-artifact-text", { text: "Generated text content", mediaType: "text/plain" }],
    ["tck-artifact-file", { raw: btoa("Generated file content"), filename: "output.txt", mediaType: "text/plain" }],
    [
      "tck-artifact-file-url",
      { url: "https://example.com/output.txt", filename: "output.txt", mediaType: "text/plain" },
    ],
    ["tck-artifact-data", { data: { key: "value", count: 42 }, mediaType: "application/json" }],
  ])("DM-PART-001 DM-ART-001 %s is an artifact with one part, of one kind", async (behaviour, part) => {
    const { artifacts } = await begun(agent, behaviour);
    expect(artifacts).toHaveLength(1);
    expect(faultsOf(artifacts[0], "Artifact")).toEqual([]);
    expect(artifacts[0].artifactId).toMatch(/./);
    expect(artifacts[0].parts).toMatchObject([part]);
  });

  it("DM-SERIAL-001 all names are in camel case", async () => {
    const task = await parked();
    const { tasks } = await agent.call("ListTasks", { contextId: task.contextId, historyLength: 5 });
    const names = [task, ...tasks].flatMap(namesIn);
    expect(names).toContain("contextId");
    expect(names.filter((name) => !/^[a-z][a-zA-Z]*$/.test(name))).toEqual([]);
  });

  it("DM-SERIAL-002 states and roles go by their names", async () => {
    const task = await parked();
    const told = [task.status.state, task.status.message.role, task.history[0].role];
    expect(told).toEqual(["TASK_STATE_INPUT_REQUIRED", "ROLE_AGENT", "ROLE_USER"]);
  });

  it("DM-SERIAL-003 times are of UTC, and say so", async () => {
    const { status, metadata } = await begun(agent, "tck-complete-task");
    const [facts] = Object.values<Wire>(metadata);
    for (const time of [status.timestamp, facts.createdAt, facts.updatedAt]) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
  });

  it("DM-SERIAL-004 what must be there is there, and no list of it is empty", async () => {
    const results = [
      await agent.call("SendMessage", said("tck-artifact-data")),
      await agent.call("SendMessage", said("tck-input-required")),
      await agent.call("SendMessage", said("tck-message-response")),
    ];
    expect(results.flatMap((result) => faultsOf(result, "SendMessageResponse"))).toEqual([]);
    // It would be found.
    const [{ task }] = results;
    const broken = { ...task, status: {}, artifacts: [{ artifactId: "a", parts: [] }], extra: 1 };
    expect(faultsOf(broken, "Task")).toHaveLength(3);
  });

  it("DM-SERIAL-005 fields that it does not know do not matter", async () => {
    const { message } = said("tck-complete-task");
    const parts = [{ text: "Hello.", unknownPart: [] }];
    const params = { message: { ...message, parts, unknownField: "x" }, unknownParam: 42 };
    const { task } = await agent.call("SendMessage", params);
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(JSON.stringify(task)).not.toContain("unknown");
  });
}

/** Names of members, but of what anybody made up: metadata and data. */
function namesIn(value: Wire): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return Object.entries(value).flatMap(([name, one]) =>
    name === "metadata" || name === "data" ? [name] : [name, ...namesIn(one)],
  );
}
