import { queueCalls } from "../src/service/queue-offer";
import { durableQueues } from "./durable-queues";
import { durableSessions } from "./durable-sessions";
import { durableWorkflows } from "./durable-workflows";
import type { Bindings, Wiring } from "./wiring";

/** What a task runs with, whichever object it runs in. */
export function runParts(wiring: Wiring, env: Bindings) {
  const { registry, clock, letters, log } = wiring;
  const config = wiring.configOf(env);
  return {
    registry,
    clock,
    letters,
    log,
    limits: config.limits,
    random: Math.random,
    fetch: wiring.fetchFor(config),
    post: wiring.postFor(config),
    queues: queueCalls(durableQueues(env), clock),
    workflows: durableWorkflows(env, log),
    asking: durableSessions({ objects: env }).asking,
  };
}
