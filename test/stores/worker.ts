// The Worker of the store tests: the storage objects as they are, with the tools, limits and clock of each test.
import { Directory } from "../../durable-objects/directory";
import { KeyObject } from "../../durable-objects/key-object";
import { OwnerIndex } from "../../durable-objects/owner-index";
import { taskObject } from "../../durable-objects/task-object";
import type { Config } from "../../src/env";
import { stage } from "./stage";

export { Directory, KeyObject, OwnerIndex };

export const TaskObject = taskObject({
  get registry() {
    return stage().registry;
  },
  clock: () => stage().clock(),
  configOf: () => ({ limits: stage().limits }) as Config,
  fetchFor: () => () => Promise.reject(new Error("The tools of the store tests fetch nothing.")),
  log: () => {},
});

export default {};
