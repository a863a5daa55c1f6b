// In this order the modules lie in the bundle; its reverse makes the Worker 1 KiB larger, gzipped.
import { createRegistry } from "./tool/registry";
import type { AnyTool } from "./tool/define-tool";
import { TaskError } from "./task/errors";
import { storeService } from "./store-api/store-service";
import { storeEntrypoint } from "./store-api/entrypoint";
import { WorkService } from "./service/work-service";
import type { TaskStore } from "./service/task-store";
import { safeFetch } from "./service/safe-fetch";
import type { RecordStore } from "./service/record-store";
import type { Drive } from "./service/drive";
import { checkRunner, checkStore, isPassive } from "./service/check-store";
import { AuditedTaskService } from "./service/audited-task-service";
import { createCatalog } from "./service/catalog";
import { createSealer } from "./seal";
import { parseEnv, type Config } from "./env";
import type { Clock } from "./clock";
import { createApp } from "./app";
import { letters } from "./a2a/letters";
import type { Bindings, Wiring } from "../durable-objects/wiring";
import { taskWorkflow } from "../durable-objects/task-workflow";
import { taskObject } from "../durable-objects/task-object";
import { sweepObjects } from "../durable-objects/sweep-objects";
import { sessionObject } from "../durable-objects/session-object";
import type { Runner } from "../durable-objects/runner";
import { IdleRunner, type RunnerClass } from "../durable-objects/idle-runner";
import { recordObject } from "../durable-objects/record-object";
import { memoryObject, memoryObjectStore } from "../durable-objects/memory-object";
import { mintedKey } from "../durable-objects/key-object";
import { durableTaskStore } from "../durable-objects/durable-task-store";
import { durableSessions } from "../durable-objects/durable-sessions";
import { durableRemoteTools } from "../durable-objects/durable-remote-tools";
import { durableRecordStore } from "../durable-objects/durable-record-store";
import { durableQueues } from "../durable-objects/durable-queues";

export type HoldfastOptions = {
  /** Listed to clients in this order. A faulty declaration throws here, naming the tool. */
  readonly tools: readonly AnyTool[];
  /** A store of your own in place of what `TASK_STORE` names; used as it is. */
  readonly store?: TaskStore;
  /** `durable-objects/runner.ts`, for a store that has `due`: runs the tasks that it only keeps. */
  readonly runner?: Runner;
  /** Where the store API keeps its records, in place of the objects of this deployment. */
  readonly records?: RecordStore;
  /** Unix ms; for tests that move time. */
  readonly clock?: Clock;
  /** Yields when the list of tools has changed in a way of your own, besides what is declared over the API. */
  readonly toolListChanges?: (signal: AbortSignal) => AsyncIterable<unknown>;
};

/** Everything meets here: the handler a Worker exports, and the classes its bindings name. */
export function createHoldfast(options: HoldfastOptions) {
  const clock = options.clock ?? Date.now;
  const registry = createRegistry(options.tools);
  if (options.store !== undefined) {
    checkStore(options.store);
    checkRunner(options.store, options.runner);
  }
  const log: Wiring["log"] = (level, message, data) => logLine({ level, message, ...data });
  const configOf = remembered((env: object) => parseEnv(env as Record<string, unknown>));
  const fetchFor = (config: Config) => safeFetch({ allowLocal: config.allowLocalFetch });
  const postFor = (config: Config) => safeFetch({ allowLocal: config.allowLocalFetch, secure: true });
  const storeOf = remembered((env: object): TaskStore => {
    const { limits, store } = configOf(env);
    if (options.store) return options.store;
    return store === "memory"
      ? memoryObjectStore(env as Bindings)
      : durableTaskStore({ objects: env as Bindings, limits, clock });
  });
  const wiring: Wiring = { registry, clock, configOf, storeOf, fetchFor, postFor, letters, log };

  /** A store that only keeps has its tasks driven: at once by who stored or told something, for the rest by the cron. */
  const driveOf = (env: object): Drive | undefined => {
    const store = storeOf(env);
    return isPassive(store) ? options.runner?.drive(env as Bindings, store, clock, log) : undefined;
  };

  const recordsOf = remembered((env: object) => {
    const { limits, namespaces } = configOf(env);
    const records = options.records ?? durableRecordStore({ objects: env as Bindings, limits, clock });
    return storeService({ records, namespaces, limits });
  });

  const appOf = remembered((env: object) => {
    const config = configOf(env);
    const { limits, remoteTools: configured } = config;
    const objects = env as Bindings;
    const sessions = durableSessions({ objects });
    const declared = durableRemoteTools(objects);
    const store = storeOf(env);
    const drive = driveOf(env);
    return createApp({
      env,
      config,
      tools: createCatalog({ registry, configured, declared, otherChanges: options.toolListChanges, log: logLine }),
      tasks: new AuditedTaskService({ store, sessions, drive, limits, clock }, logLine),
      sessions,
      records: recordsOf(env),
      work: new WorkService({ store, queues: durableQueues(objects), drive, limits, clock }),
      remoteTools: declared,
      sealer: createSealer(async () => config.sealingKey ?? mintedKey(objects.KEYS), clock),
      clock,
      fetch: fetchFor(config),
      log: logLine,
    });
  });

  const handler = {
    async fetch(request: Request, env: object, ctx: ExecutionContext): Promise<Response> {
      try {
        return await appOf(env).fetch(request, env, ctx);
      } catch (error) {
        return misconfigured(error, log);
      }
    },
    /** The Cron Trigger: one run of the sweep, and of the drive where the store needs one; a line in the log each. */
    async scheduled(_controller: ScheduledController, env: object): Promise<void> {
      const { store, records } = options;
      await logged("Swept.", () => storeOf(env).sweep(configOf(env).sweepBudget), log);
      const { sweepBudget, limits, store: kind } = configOf(env);
      const drive = driveOf(env);
      if (drive) await logged("Set going.", () => drive.redrive(sweepBudget), log);
      // The durable store sweeps the records with its tasks; any other knows nothing of them.
      if (records?.sweep) {
        await logged("Swept records.", async () => ({ removed: await records.sweep?.(sweepBudget) }), log);
      } else if (!records && (store || kind === "memory")) {
        await logged(
          "Swept records.",
          () => sweepObjects({ objects: env as Bindings, limits, clock }, sweepBudget),
          log,
        );
      }
    },
  };

  return {
    handler,
    TaskObject: taskObject(wiring),
    TaskWorkflow: taskWorkflow(wiring),
    SessionObject: sessionObject(wiring),
    MemoryObject: memoryObject(wiring),
    RecordObject: recordObject(wiring),
    RunnerObject: (options.runner?.object(wiring) ?? IdleRunner) as RunnerClass,
    StoreEntrypoint: storeEntrypoint({ storeOf: recordsOf, log: logLine }),
  };
}

const logLine = (line: object): void => console.log(JSON.stringify(line));

/** `run` may also throw at once: a bad setting is told in the log by its name. */
async function logged(done: string, run: () => Promise<object>, log: Wiring["log"]): Promise<void> {
  const started = Date.now();
  try {
    log("info", done, { ...(await run()), ms: Date.now() - started });
  } catch (error) {
    log("error", "The sweep failed.", { error: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

/** A bad setting: told at the first request and in the log, by the variable's name. Never a half-configured server. */
function misconfigured(error: unknown, log: Wiring["log"]): Response {
  if (!(error instanceof TaskError)) throw error;
  log("error", error.message, {});
  return Response.json({ jsonrpc: "2.0", error: { code: -32603, message: error.message } }, { status: 500 });
}

/** Once per env: the runtime hands the same object to every request of an isolate. */
function remembered<T extends object>(make: (env: object) => T): (env: object) => T {
  const made = new WeakMap<object, T>();
  return (env) => {
    const known = made.get(env);
    if (known) return known;
    const fresh = make(env);
    made.set(env, fresh);
    return fresh;
  };
}
