import { expect, it } from "vitest";
import type { TaskStore } from "../../src/service/task-store";
import { connect } from "../support/legacy";
import { serve, until, withTasks } from "../support/mcp";
import { remote } from "../support/remote";

it("A14 tasks/get, tasks/result, tasks/cancel and tasks/list reach the store through the service, and nothing else", async () => {
  const seen: string[] = [];
  const spied = (store: TaskStore): TaskStore =>
    new Proxy(store, {
      get(target, name: keyof TaskStore & string) {
        const method = target[name] as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          if (name !== "recognises") seen.push(name);
          return method.apply(target, args);
        };
      },
    });
  const served = await serve([], { owners: ["a"], config: { remoteTools: [remote()] }, storeFor: spied });
  const client = await connect(served, { token: "a" });
  const { taskId } = await client.task("render");
  expect(seen).toContain("create");
  const during = async (method: string, of: "2025-11-25" | "2026-07-28" = "2025-11-25"): Promise<readonly string[]> => {
    seen.length = 0;
    const params = method === "tasks/list" ? {} : { taskId };
    const answer =
      of === "2025-11-25"
        ? await client.call(method, params)
        : await served.call(method, params, { token: "a", capabilities: withTasks });
    expect([method, answer]).toEqual([method, expect.objectContaining({ result: expect.anything() })]);
    return [...seen];
  };
  expect(await during("tasks/get")).toEqual(["poll"]);
  expect(await during("tasks/get", "2026-07-28")).toEqual(["poll"]);
  // The list's rows name the tasks, and each is looked at as its owner may see it.
  expect(await during("tasks/list")).toEqual(["list", "read"]);
  const result = during("tasks/result");
  await until(
    () => seen.includes("watch"),
    (watched) => watched,
  );
  await (await served.take("gpu")).complete({ content: [] });
  expect((await result)[0]).toBe("poll");
  expect(await during("tasks/result")).toEqual(["poll"]);
  expect(await during("tasks/cancel", "2026-07-28")).toEqual(["tell"]);
  seen.length = 0;
  expect((await client.call("tasks/cancel", { taskId })).error.code).toBe(-32602);
  expect(seen).toEqual(["tell"]);
});
