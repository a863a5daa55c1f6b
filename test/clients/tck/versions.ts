import { expect, it } from "vitest";
import type { Agent } from "./agent";
import { begun, said } from "./talk";

/** Which A2A is spoken (A2A 1.0 §3.6), where only 1.0 is. */
export function versions(agent: Agent): void {
  const speaking = (version: string) => ({ headers: { "A2A-Version": version } });

  it("VER-SERVER-001 answers in the version that was asked for, and not in another that is not spoken", async () => {
    const result = await agent.call("SendMessage", said("tck-complete-task"), speaking("1.0"));
    expect(result.task.status.state).toBe("TASK_STATE_COMPLETED");
    const answer = await agent.ask("GetTask", { id: result.task.id }, speaking("0.3"));
    expect(answer).toMatchObject(agent.refused("VERSION_NOT_SUPPORTED"));
  });

  it.each(["99.0", "2.0", "1.1", "0.2", "one"])("VER-SERVER-002 does not speak %s", async (version) => {
    const contextId = crypto.randomUUID();
    const answer = await agent.ask("SendMessage", said("tck-complete-task", { contextId }), speaking(version));
    expect(answer).toMatchObject(agent.refused("VERSION_NOT_SUPPORTED"));
    expect(await agent.call("ListTasks", { contextId })).toMatchObject({ totalSize: 0 });
  });

  it("VER-CLIENT-002 does not mind a patch number", async () => {
    const { id } = await begun(agent, "tck-complete-task");
    const [plain, patched] = await Promise.all(
      ["1.0", "1.0.7"].map((version) => agent.call("GetTask", { id }, speaking(version))),
    );
    expect(patched).toEqual(plain);
  });
}
