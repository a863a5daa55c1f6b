import { expect, it } from "vitest";
import { tckTools } from "../../fixtures/tck/tools";
import { serve, type Wire } from "../../support/mcp";
import type { TaskStore } from "../../../src/service/task-store";
import { jsonRpcAgent, type Agent, type restAgent, type Send } from "./agent";
import { begun, said, upon } from "./talk";

type Deployment = NonNullable<Parameters<typeof serve>[1]>;

const ORIGIN = "http://localhost:8787";

/** Deployments with other settings; they need no runtime, so they run in this process. */
export function elsewhere(agentOver: typeof jsonRpcAgent | typeof restAgent): void {
  const deployed = async (options: Deployment): Promise<{ readonly agent: Agent; readonly send: Send }> => {
    const { app } = await serve(tckTools, options);
    const send: Send = async (path, init) => app.request(ORIGIN + path, init);
    return { agent: agentOver(send), send };
  };
  const a2a = (legacy: boolean) => ({ config: { a2a: { blockMs: 60_000, legacy } } });
  const cardOf = async (send: Send): Promise<Wire> =>
    (await send("/.well-known/agent-card.json", { headers: { "A2A-Version": "1.0" } })).json();

  it("CORE-CAP-001 where the store pushes nothing, the card says so, and nobody can set where to", async () => {
    const storeFor = (store: TaskStore) =>
      new Proxy(store, {
        get(target, name: keyof TaskStore) {
          const member = target[name];
          return name === "pushes" ? false : typeof member === "function" ? member.bind(target) : member;
        },
      });
    const { agent, send } = await deployed({ ...a2a(false), owners: ["owner-a"], storeFor });
    expect((await cardOf(send)).capabilities.pushNotifications).not.toBe(true);
    const { id } = await begun(agent, "tck-complete-task", { metadata: { skillId: "complete" } });
    const operations = upon(id).filter(([operation]) => operation.includes("Push"));
    expect(operations).toHaveLength(4);
    for (const [operation, params] of operations) {
      expect(await agent.ask(operation, params)).toMatchObject(agent.refused("PUSH_NOTIFICATION_NOT_SUPPORTED"));
    }
    const configuration = { taskPushNotificationConfig: { url: "https://hooks.example/x" } };
    const sent = await agent.ask("SendMessage", said("complete", { metadata: { skillId: "complete" } }, configuration));
    expect(sent).toMatchObject(agent.refused("PUSH_NOTIFICATION_NOT_SUPPORTED"));
  });

  it("CORE-CAP-003 where nobody is known, the card says that there is no other, and there is none", async () => {
    const { agent, send } = await deployed(a2a(false));
    expect((await cardOf(send)).capabilities.extendedAgentCard).not.toBe(true);
    const answer = await agent.ask("GetExtendedAgentCard", {}, { token: null });
    expect(answer).toMatchObject(agent.refused("UNSUPPORTED_OPERATION"));
  });
}

/** JSON-RPC where 0.3 is spoken too; over HTTP+JSON it never is. */
export function withOlder(agentOver: typeof jsonRpcAgent | typeof restAgent): void {
  const message = {
    kind: "message",
    messageId: "m",
    role: "user",
    parts: [{ kind: "text", text: "Hello." }],
    metadata: { skillId: "complete" },
  };
  const isRpc = agentOver === jsonRpcAgent;
  const deployed = async () => {
    const { app } = await serve(tckTools, { owners: ["owner-a"] });
    const post = async (path: string, body: Wire, version?: string): Promise<Wire> => {
      const headers = { "Content-Type": "application/json", Authorization: "Bearer owner-a" };
      const spoken = version === undefined ? {} : { "A2A-Version": version };
      const init = { method: "POST", headers: { ...headers, ...spoken }, body: JSON.stringify(body) };
      return (await app.request(ORIGIN + path, init)).json();
    };
    return post;
  };
  const old = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } };

  it("VER-SERVER-001 answers who says 0.3 as 0.3 does, or says that it is not spoken", async () => {
    const post = await deployed();
    if (isRpc) {
      expect((await post("/a2a", old, "0.3")).result).toMatchObject({ kind: "task", status: { state: "completed" } });
    } else {
      const { error } = await post("/a2a/message:send", said("complete"), "0.3");
      expect(error.details[0].reason).toBe("VERSION_NOT_SUPPORTED");
    }
  });

  // Over HTTP+JSON the addresses tell the versions apart: those of 1.0 were nowhere in 0.3, whose began with /v1.
  it("VER-SERVER-003 takes who says nothing for 0.3, where that has such a request", async () => {
    const post = await deployed();
    for (const version of ["", undefined]) {
      if (isRpc) {
        expect((await post("/a2a", old, version)).result).toMatchObject({
          kind: "task",
          status: { state: "completed" },
        });
      } else {
        expect(await post("/a2a/v1/message:send", { message }, version)).toMatchObject({ error: { code: 404 } });
        const { task } = await post("/a2a/message:send", said("complete", { metadata: message.metadata }), version);
        expect(task.status.state).toBe("TASK_STATE_COMPLETED");
      }
    }
  });
}
