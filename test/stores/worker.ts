// The Worker of the store tests: the storage objects as they are, with the tools, limits and clock of each test.
import { Directory } from "../../durable-objects/directory";
import { KeyObject } from "../../durable-objects/key-object";
import { memoryObject } from "../../durable-objects/memory-object";
import { OwnerIndex } from "../../durable-objects/owner-index";
import { sessionObject } from "../../durable-objects/session-object";
import { taskObject } from "../../durable-objects/task-object";
import type { Wiring } from "../../durable-objects/wiring";
import type { Config } from "../../src/env";
import { stage } from "./stage";

export { Directory, KeyObject, OwnerIndex };

const wiring: Wiring = {
  get registry() {
    return stage().registry;
  },
  clock: () => stage().clock(),
  configOf: () => ({ limits: stage().limits }) as Config,
  fetchFor: () => () => Promise.reject(new Error("The tools of the store tests fetch nothing.")),
  log: () => {},
};

export const TaskObject = taskObject(wiring);
export const MemoryObject = memoryObject(wiring);

export const SessionObject = sessionObject({ clock: () => stage().clock() });

export default {};
