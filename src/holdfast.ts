import { durableSessions } from "../durable-objects/durable-sessions";
import { durableTaskStore } from "../durable-objects/durable-task-store";
import { mintedKey } from "../durable-objects/key-object";
import { memoryObject, memoryObjectStore } from "../durable-objects/memory-object";
import { sessionObject } from "../durable-objects/session-object";
import { taskObject } from "../durable-objects/task-object";
import type { Bindings, Wiring } from "../durable-objects/wiring";
import { createApp } from "./app";
import type { Clock } from "./clock";
import { parseEnv, type Config } from "./env";
import type { McpDeps } from "./mcp/wing";
import { createSealer } from "./seal";
import { safeFetch } from "./service/safe-fetch";
import { AuditedTaskService } from "./service/audited-task-service";
import type { TaskStore } from "./service/task-store";
import { TaskError } from "./task/errors";
import type { AnyTool } from "./tool/define-tool";
import { createRegistry } from "./tool/registry";

export type HoldfastOptions = {
  /** Listed to clients in this order. A faulty declaration throws here, naming the tool. */
  readonly tools: readonly AnyTool[];
  /** A store of your own in place of what `TASK_STORE` names. */
  readonly store?: TaskStore;
  /** Unix ms; for tests that move time. */
  readonly clock?: Clock;
  /** Yields when the list of tools has changed; without it no such change is advertised. */
  readonly toolListChanges?: McpDeps["toolListChanges"];
};

/** Everything meets here: the handler a Worker exports, and the classes its bindings name. */
export function createHoldfast(options: HoldfastOptions) {
  const clock = options.clock ?? Date.now;
  const registry = createRegistry(options.tools);
  const log: Wiring["log"] = (level, message, data) => console.log(JSON.stringify({ level, message, ...data }));
  const configOf = remembered((env: object) => parseEnv(env as Record<string, unknown>));
  const fetchFor = (config: Config) => safeFetch({ allowLocal: config.allowLocalFetch });
  const wiring: Wiring = { registry, clock, configOf, fetchFor, log };

  const storeOf = remembered((env: object): TaskStore => {
    const { limits, store } = configOf(env);
    if (options.store) return options.store;
    return store === "memory"
      ? memoryObjectStore(env as Bindings)
      : durableTaskStore({ objects: env as Bindings, limits, clock });
  });

  const appOf = remembered((env: object) => {
    const config = configOf(env);
    const { KEYS } = env as Bindings;
    const sessions = durableSessions({ objects: env as Bindings });
    return createApp({
      env,
      config,
      registry,
      tasks: new AuditedTaskService({ store: storeOf(env), sessions, limits: config.limits, clock }, (line) =>
        console.log(JSON.stringify(line)),
      ),
      sessions,
      sealer: createSealer(async () => config.sealingKey ?? mintedKey(KEYS), clock),
      clock,
      fetch: fetchFor(config),
      log: (line) => console.log(JSON.stringify(line)),
      ...(options.toolListChanges ? { toolListChanges: options.toolListChanges } : {}),
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
    /** The Cron Trigger: one run of the sweep, one line in the log. */
    async scheduled(_controller: ScheduledController, env: object): Promise<void> {
      const started = Date.now();
      try {
        const report = await storeOf(env).sweep(configOf(env).sweepBudget);
        log("info", "Swept.", { ...report, ms: Date.now() - started });
      } catch (error) {
        log("error", "The sweep failed.", { error: error instanceof Error ? error.message : String(error) });
        throw error;
      }
    },
  };

  return {
    handler,
    TaskObject: taskObject(wiring),
    SessionObject: sessionObject(wiring),
    MemoryObject: memoryObject(wiring),
  };
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
