import { afterAll, beforeAll, expect, it } from "vitest";
import { faultsOf } from "../../a2a/shapes";
import type { Wire } from "../../support/mcp";
import type { Agent } from "./agent";
import { answered, answeredOnce, begun, ENDED } from "./talk";
import { openWebhook, type Delivery, type Webhook } from "./webhook";

/** Push notifications: where they go, and what arrives there (A2A 1.0 §3.1.7–3.1.10, §4.3.3). */
export function pushing(agent: Agent): void {
  let hook: Webhook;
  beforeAll(async () => void (hook = await openWebhook()));
  afterAll(() => hook.close());

  const nowhere = "https://hooks.example/x";
  const parked = (): Promise<Wire> => begun(agent, "tck-input-required");
  const set = (taskId: string, over: object = {}): Promise<Wire> =>
    agent.call("CreateTaskPushNotificationConfig", { taskId, url: nowhere, ...over });
  const list = async (taskId: string): Promise<Wire> =>
    (await agent.call("ListTaskPushNotificationConfigs", { taskId })).configs;

  it("PUSH-CREATE-001 keeps where to push, under an id, for a task that has ended too", async () => {
    for (const { id: taskId } of [await parked(), await begun(agent, "tck-complete-task")]) {
      expect(await set(taskId, { id: "mine" })).toMatchObject({ taskId, id: "mine", url: nowhere });
      const unnamed = await set(taskId);
      expect(unnamed.id).toMatch(/./);
      expect((await list(taskId)).map(({ id }: Wire) => id).toSorted()).toEqual(["mine", unnamed.id].toSorted());
    }
  });

  it("PUSH-CREATE-002 keeps it while the task goes on", async () => {
    const task = await parked();
    const url = hook.address();
    const config = await set(task.id, { id: "kept", url });
    await answeredOnce(agent, task, "more to come");
    expect(await agent.call("GetTaskPushNotificationConfig", { taskId: task.id, id: "kept" })).toEqual(config);
    await answered(agent, task);
    // It hears of the second question and, after that, of the end.
    await hook.awaited(url, waits);
    await hook.awaited(url, ends);
  });

  it("PUSH-GET-001 tells what was set, without what is secret", async () => {
    const { id: taskId } = await parked();
    const authentication = { scheme: "Bearer", credentials: "secret" };
    await set(taskId, { id: "c", token: "secret", authentication });
    const config = await agent.call("GetTaskPushNotificationConfig", { taskId, id: "c" });
    expect(config).toEqual({ taskId, id: "c", url: nowhere, authentication: { scheme: "Bearer" } });
  });

  it("PUSH-GET-002 finds nothing by an id that was not set", async () => {
    const { id: taskId } = await parked();
    for (const params of [
      { taskId, id: "none" },
      { taskId: "no-such-task", id: "none" },
    ]) {
      const answer = await agent.ask("GetTaskPushNotificationConfig", params);
      expect(answer).toMatchObject(agent.refused("TASK_NOT_FOUND"));
    }
  });

  it("PUSH-LIST-001 lists all that was set for the task, each once", async () => {
    const { id: taskId } = await parked();
    expect(await list(taskId)).toEqual([]);
    for (const id of ["a", "b", "a"]) await set(taskId, { id, url: `${nowhere}/${id}` });
    expect(await list(taskId)).toEqual([
      { taskId, id: "a", url: `${nowhere}/a` },
      { taskId, id: "b", url: `${nowhere}/b` },
    ]);
    expect(await list((await parked()).id)).toEqual([]);
  });

  it("PUSH-DEL-001 removes it for good: nothing is pushed there any more", async () => {
    const task = await parked();
    const { id: taskId } = task;
    const [removed, kept] = [hook.address(), hook.address()];
    await set(taskId, { id: "removed", url: removed });
    await set(taskId, { id: "kept", url: kept });
    await agent.call("DeleteTaskPushNotificationConfig", { taskId, id: "removed" });
    const answer = await agent.ask("GetTaskPushNotificationConfig", { taskId, id: "removed" });
    expect(answer).toMatchObject(agent.refused("TASK_NOT_FOUND"));
    expect((await list(taskId)).map(({ id }: Wire) => id)).toEqual(["kept"]);
    await answered(agent, task);
    await hook.awaited(kept, ends);
    expect(hook.at(removed).filter(ends)).toEqual([]);
  });

  it("PUSH-DEL-002 removes what is not there without complaint", async () => {
    const { id: taskId } = await parked();
    await set(taskId, { id: "c" });
    for (const id of ["c", "c", "never-set"]) await agent.call("DeleteTaskPushNotificationConfig", { taskId, id });
  });

  it("PUSH-DELIVER-001 presents what the receiver asked for", async () => {
    const url = hook.address();
    const authentication = { scheme: "Bearer", credentials: "of-the-receiver" };
    const taskPushNotificationConfig = { url, token: "of-the-client", authentication };
    const task = await begun(agent, "tck-input-required", {}, { taskPushNotificationConfig });
    await answered(agent, task);
    await hook.awaited(url, ends);
    for (const { headers } of hook.at(url)) {
      expect(headers).toMatchObject({
        authorization: "Bearer of-the-receiver",
        "x-a2a-notification-token": "of-the-client",
      });
    }
  });

  it("PUSH-DELIVER-002 tells every receiver of the end, in whichever way it was set", async () => {
    const [early, late, later] = [hook.address(), hook.address(), hook.address()];
    const task = await begun(agent, "tck-input-required", {}, { taskPushNotificationConfig: { url: early } });
    await set(task.id, { url: late });
    const last = { taskPushNotificationConfig: { url: later } };
    await begun(agent, "tck-complete-task", { taskId: task.id }, last);
    for (const url of [early, late, later]) await hook.awaited(url, ends);
  });

  // Content-Type: specification 1.0.1 §11.1; the kit asks only for JSON.
  it("PUSH-DELIVER-003 sends events as a stream has them", async () => {
    const url = hook.address();
    const { id } = await begun(agent, "tck-artifact-text", {}, { taskPushNotificationConfig: { url } });
    await hook.awaited(url, ends);
    const letters = hook.at(url);
    expect(letters.flatMap(({ body }) => faultsOf(body, "StreamResponse"))).toEqual([]);
    expect(letters.flatMap(({ body }) => body.task?.id ?? (body.statusUpdate ?? body.artifactUpdate).taskId)).toEqual(
      letters.map(() => id),
    );
    expect(letters.map(({ headers }) => headers["content-type"])).toEqual(letters.map(() => "application/a2a+json"));
    const artifacts = letters.flatMap(({ body }) => (body.artifactUpdate ? [body.artifactUpdate.artifact] : []));
    expect(artifacts).toMatchObject([{ parts: [{ text: "Generated text content" }] }]);
  });
}

const stateIn = ({ body }: Delivery): string => (body.task ?? body.statusUpdate)?.status.state;
const ends = (delivery: Delivery): boolean => ENDED.test(stateIn(delivery));
const waits = (delivery: Delivery): boolean => stateIn(delivery) === "TASK_STATE_INPUT_REQUIRED";
