import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";
import type { Operation } from "./operations";
import { begun, said, three, upon } from "./talk";

/** What holds of the two bindings together (A2A 1.0 §5.1). The kit names these and tests none. */
export function both(rpc: Agent, rest: Agent): void {
  /** What each says; they must say the same. */
  const byBoth = async (operation: Operation, params?: Wire): Promise<Wire> => {
    const [one, other] = [await rpc.call(operation, params), await rest.call(operation, params)];
    expect(other ?? {}).toEqual(one ?? {});
    return one;
  };

  it("BIND-EQUIV-001 what is begun by one goes on by the other, in every operation", async () => {
    for (const [here, there] of [
      [rpc, rest],
      [rest, rpc],
    ] as const) {
      const { id } = await begun(here, "tck-input-required");
      const stream = await there.stream("SubscribeToTask", { id });
      expect(await stream.next()).toEqual({ task: await here.call("GetTask", { id }) });
      const config = { taskId: id, id: "c", url: "https://hooks.example/x" };
      expect(await there.call("CreateTaskPushNotificationConfig", config)).toEqual(config);
      expect(await here.call("GetTaskPushNotificationConfig", { taskId: id, id: "c" })).toEqual(config);
      expect((await there.call("ListTaskPushNotificationConfigs", { taskId: id })).configs).toEqual([config]);
      await here.call("DeleteTaskPushNotificationConfig", { taskId: id, id: "c" });
      expect((await there.call("ListTaskPushNotificationConfigs", { taskId: id })).configs).toEqual([]);
      await begun(there, "tck-complete-task", { taskId: id });
      expect((await stream.rest()).at(-1).statusUpdate.status.state).toBe("TASK_STATE_COMPLETED");
      const another = await here.stream("SendStreamingMessage", said("tck-input-required"));
      const [{ task }] = await another.rest();
      expect((await there.call("CancelTask", { id: task.id })).status.state).toBe("TASK_STATE_CANCELED");
    }
  });

  it("BIND-EQUIV-002 both say the same of the same", async () => {
    const { contextId, tasks } = await three(rpc, "tck-artifact-data");
    for (const { id } of tasks) await byBoth("GetTask", { id });
    await byBoth("GetTask", { id: tasks[0].id, historyLength: 0 });
    const url = "https://hooks.example/x";
    await byBoth("CreateTaskPushNotificationConfig", { taskId: tasks[0].id, id: "c", url });
    await byBoth("GetTaskPushNotificationConfig", { taskId: tasks[0].id, id: "c" });
    await byBoth("ListTaskPushNotificationConfigs", { taskId: tasks[0].id });
    await byBoth("DeleteTaskPushNotificationConfig", { taskId: tasks[0].id, id: "c" });
    await byBoth("ListTasks", { contextId, includeArtifacts: true, historyLength: 2 });
    await byBoth("ListTasks", { contextId, status: "TASK_STATE_WORKING" });
    await byBoth("GetExtendedAgentCard");
    const since = tasks[2].status.timestamp;
    const { totalSize } = await byBoth("ListTasks", { contextId, statusTimestampAfter: since });
    expect(totalSize).toBeGreaterThanOrEqual(1);
  });

  it("BIND-EQUIV-002 the same message comes to the same", async () => {
    for (const behaviour of ["tck-complete-task", "tck-artifact-file", "tck-reject-task", "tck-message-response"]) {
      const params = said(behaviour, { contextId: crypto.randomUUID() });
      const [one, other] = [await rpc.call("SendMessage", params), await rest.call("SendMessage", params)];
      expect(alike(other)).toEqual(alike(one));
    }
  });

  it("BIND-EQUIV-003 both refuse the same, for the same reason, in the same words", async () => {
    const { id } = await begun(rpc, "tck-complete-task");
    const file = { parts: [{ raw: "AAEC", mediaType: "image/png" }] };
    const refused: readonly (readonly [Operation, Wire])[] = [
      ...upon("no-such-task"),
      ["CancelTask", { id }],
      ["SubscribeToTask", { id }],
      ["SendMessage", said("tck-complete-task", { taskId: id })],
      ["SendMessage", said("send", file)],
      ["SendMessage", said("send", { parts: [] })],
      ["ListTasks", { pageSize: 0 }],
      ["ListTasks", { pageToken: "made-up" }],
    ];
    for (const [operation, params] of refused) {
      const refusals = [await rpc.ask(operation, params), await rest.ask(operation, params)].map(
        ({ refusal }) => refusal,
      );
      const [one, other] = refusals.map((refusal) => ({ ...refusal, code: undefined }));
      expect([operation, one?.reason]).toEqual([operation, expect.any(String)]);
      expect([operation, other]).toEqual([operation, one]);
    }
  });

  it("BIND-EQUIV-004 both know the same callers, and ask unknown ones for the same", async () => {
    for (const token of [null, "wrong"]) {
      const answers = [await rpc.ask("ListTasks", {}, { token }), await rest.ask("ListTasks", {}, { token })];
      const [one, other] = answers.map(({ status, headers, refusal }) => [
        status,
        headers.get("www-authenticate"),
        refusal?.reason,
        refusal?.message,
      ]);
      expect(one?.[0]).toBe(401);
      expect(other).toEqual(one);
    }
    for (const token of ["owner-a", "owner-b"]) {
      for (const agent of [rpc, rest]) expect((await agent.ask("ListTasks", {}, { token })).status).toBe(200);
    }
  });
}

/** Without what is different each time: ids, and times. */
const alike = (result: Wire): Wire =>
  JSON.parse(JSON.stringify(result), (name, value: unknown) =>
    /^(id|taskId|messageId|timestamp|createdAt|updatedAt)$/.test(name) ? undefined : value,
  );
