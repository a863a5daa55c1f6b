import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";
import type { Operation } from "./operations";
import { begun, said } from "./talk";

const NONE = crypto.randomUUID();

const sent = (message: object): Wire => said("tck-complete-task", { contextId: NONE, ...message });

const configured = (configuration: object): Wire => ({ ...sent({}), configuration });

const WRONG: readonly (readonly [what: string, Operation, field: string, Wire])[] = [
  ["no message", "SendMessage", "message", { configuration: {} }],
  ["no parts", "SendMessage", "message.parts", sent({ parts: [] })],
  ["no parts", "SendStreamingMessage", "message.parts", sent({ parts: [] })],
  ["text for parts", "SendMessage", "message.parts", sent({ parts: "text" })],
  ["an empty part", "SendMessage", "message.parts[0]", sent({ parts: [{}] })],
  ["a part of two kinds", "SendMessage", "message.parts[0]", sent({ parts: [{ text: "a", data: {} }] })],
  ["a number for text", "SendMessage", "message.parts[0].text", sent({ parts: [{ text: 1 }] })],
  ["bytes that are no base64", "SendMessage", "message.parts[0].raw", sent({ parts: [{ raw: "%%%" }] })],
  ["a role of 0.3", "SendMessage", "message.role", sent({ role: "user" })],
  ["no message id", "SendMessage", "message.messageId", sent({ messageId: undefined })],
  ["an empty message id", "SendMessage", "message.messageId", sent({ messageId: "" })],
  ["a negative length", "SendMessage", "configuration.historyLength", configured({ historyLength: -1 })],
  ["text for a flag", "SendMessage", "configuration.returnImmediately", configured({ returnImmediately: "yes" })],
  ["a negative length", "GetTask", "historyLength", { id: "x", historyLength: -1 }],
  ["an empty page", "ListTasks", "pageSize", { pageSize: 0 }],
  ["a page too large", "ListTasks", "pageSize", { pageSize: 101 }],
  ["a state of no name", "ListTasks", "status", { status: "WORKING" }],
  ["no time", "ListTasks", "statusTimestampAfter", { statusTimestampAfter: "yesterday" }],
  ["no address", "CreateTaskPushNotificationConfig", "url", { taskId: "x", id: "c" }],
];

/** Errors that say what is wrong (A2A 1.0 §3.3.2). */
export function refusing(agent: Agent): void {
  it("CORE-ERR-001 says in words, and for programs, why it does not do something", async () => {
    const answer = await agent.ask("GetTask", { id: "no-such-task" });
    expect(answer).toMatchObject(agent.refused("TASK_NOT_FOUND"));
    expect(answer.refusal?.message).toMatch(/^[A-Z].*\.$/);
    const { id } = await begun(agent, "tck-complete-task");
    const late = await agent.ask("SendMessage", said("tck-complete-task", { taskId: id }));
    expect(late.refusal?.message).toMatch(/without taskId/);
  });

  it.each(WRONG)("CORE-ERR-002 refuses %s in %s, for its %s", async (_, operation, field, params) => {
    const answer = await agent.ask(operation, params);
    expect(answer).toMatchObject(agent.refused("INVALID_PARAMS"));
    expect(answer.refusal?.details).toContainEqual({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: expect.arrayContaining([{ field, description: expect.stringMatching(/./) }]),
    });
  });

  it("CORE-ERR-002 nothing is begun by what is refused", async () => {
    expect(await agent.call("ListTasks", { contextId: NONE })).toMatchObject({ totalSize: 0 });
  });

  it("CORE-ERR-002 where to push must be an address that may be called", async () => {
    const { id: taskId } = await begun(agent, "tck-input-required");
    for (const url of ["nowhere", "ftp://hooks.example/x", "https://me:secret@hooks.example/x"]) {
      const answer = await agent.ask("CreateTaskPushNotificationConfig", { taskId, url });
      expect(answer).toMatchObject(agent.refused("INVALID_PARAMS"));
    }
    expect((await agent.call("ListTaskPushNotificationConfigs", { taskId })).configs).toEqual([]);
  });
}
