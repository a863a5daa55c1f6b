import { runnerDrive } from "./runner-drive";
import { runnerObject } from "./runner-object";

/** Runs the tasks of a store that only keeps them: `createHoldfast({ tools, store, runner })`. */
export const runner = { drive: runnerDrive, object: runnerObject };

export type Runner = typeof runner;
