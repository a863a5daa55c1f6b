import type { Clock } from "../src/clock";
import type { Config } from "../src/env";
import type { Letters } from "../src/service/push-letter";
import type { SafeFetch } from "../src/service/safe-fetch";
import type { TaskStore } from "../src/service/task-store";
import type { LogLevel, TaskContext } from "../src/tool/context";
import type { Registry } from "../src/tool/registry";
import type { WorkflowParams } from "./durable-workflows";
import type { KeyObject } from "./key-object";
import type { StorageBindings } from "./rpc";

/** What the deployment binds; the names are those of wrangler.toml. */
export type Bindings = StorageBindings & {
  readonly RUNNERS: DurableObjectNamespace;
  readonly KEYS: DurableObjectNamespace<KeyObject>;
  readonly MEMORY: DurableObjectNamespace;
  /** For tools that run as Workflows; a deployment without such tools may do without. */
  readonly TASK_WORKFLOW?: Workflow<WorkflowParams>;
};

/** What the composition root hands to the objects: the platform makes them, so it cannot come as arguments. */
export type Wiring = {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly configOf: (env: object) => Config;
  /** The deployment's store: its own, or one that `createHoldfast` was given. */
  readonly storeOf: (env: object) => TaskStore;
  readonly fetchFor: (config: Config) => TaskContext["fetch"];
  /** What push targets are told of a task, and what sends it. */
  readonly letters: Letters;
  readonly postFor: (config: Config) => SafeFetch;
  readonly log: (level: LogLevel, message: string, data: object) => void;
};
