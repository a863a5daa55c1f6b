// The Worker of the store tests: the storage objects as they are, with the tools, limits and clock of each test.
import { Directory } from "../../durable-objects/directory";
import { KeyObject } from "../../durable-objects/key-object";
import { memoryObject } from "../../durable-objects/memory-object";
import { OwnerIndex } from "../../durable-objects/owner-index";
import { QueueObject } from "../../durable-objects/queue-object";
import { recordObject } from "../../durable-objects/record-object";
import { runnerObject } from "../../durable-objects/runner-object";
import { sessionObject } from "../../durable-objects/session-object";
import { taskObject } from "../../durable-objects/task-object";
import { taskWorkflow } from "../../durable-objects/task-workflow";
import { ToolsObject } from "../../durable-objects/tools-object";
import type { Wiring } from "../../durable-objects/wiring";
import type { Config } from "../../src/env";
import { stage } from "./stage";

export { Directory, KeyObject, OwnerIndex, QueueObject, ToolsObject };

const wiring: Wiring = {
  get registry() {
    return stage().registry;
  },
  clock: () => stage().clock(),
  configOf: () => ({ limits: stage().limits }) as Config,
  storeOf: () => {
    const { store } = stage();
    if (!store) throw new Error("A test of a store of one's own puts it on the stage.");
    return store;
  },
  fetchFor: () => () => Promise.reject(new Error("The tools of the store tests fetch nothing.")),
  letters: async (...news) => stage().letters?.(...news) ?? [],
  postFor: () => (url, init) => stage().post?.(url, init) ?? Promise.reject(new Error("This test pushes nothing.")),
  log: (level, message, data) => stage().log?.(level, message, data),
};

export const TaskObject = taskObject(wiring);
export const TaskWorkflow = taskWorkflow(wiring);
export const MemoryObject = memoryObject(wiring);
export const RecordObject = recordObject(wiring);
export const RunnerObject = runnerObject(wiring);

export const SessionObject = sessionObject({ clock: () => stage().clock() });

export default {};
