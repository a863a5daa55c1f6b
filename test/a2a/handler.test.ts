import type { SendMessageRequest } from "@a2a-js/sdk";
import { expect, it, vi } from "vitest";
import type { A2aDeps } from "../../src/a2a/deps";
import { handlerFor } from "../../src/a2a/handler";
import { dataPart } from "../../src/a2a/parts";
import { parseEnv } from "../../src/env";
import { defineTool } from "../../src/tool/define-tool";
import { memoryService } from "../support/memory";

const greet = defineTool({
  name: "greet",
  description: "Greets.",
  input: { type: "object" },
  task: "optional",
  run: () => "Hello",
});

const request = (historyLength: number | undefined): SendMessageRequest => ({
  tenant: "",
  metadata: undefined,
  message: {
    messageId: "m1",
    contextId: "",
    taskId: "",
    role: 1,
    parts: [dataPart({ skill: "greet" })],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately: false,
    historyLength,
  },
});

it.each([
  ["no history", 0, 1],
  ["all of it", undefined, 2],
])("a task that was waited for is read once, and again for its history: %s", async (_, historyLength, reads) => {
  const { registry, tasks, store, clock, owner } = memoryService([greet]);
  const config = parseEnv({});
  const tools = { list: async () => registry.list(), find: async (name: string) => registry.get(name) };
  const deps = { config, tools, tasks, clock: clock.now } as unknown as A2aDeps;
  const read = vi.spyOn(store, "read");
  const { signal } = new AbortController();
  const caller = {
    principal: owner,
    headers: new Headers(),
    wire: "a2a/1.0",
    origin: "http://localhost",
    signal,
  } as const;
  const task = await handlerFor(deps, caller).sendMessage(request(historyLength), {} as never);
  expect(task).toMatchObject({ status: { state: 3 }, artifacts: [{ artifactId: "result" }] });
  expect(task).toHaveProperty("history.length", historyLength === 0 ? 0 : 1);
  expect(read).toHaveBeenCalledTimes(reads);
});
