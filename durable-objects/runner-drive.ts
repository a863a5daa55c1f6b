import type { Clock } from "../src/clock";
import { Drive, type DriveParts } from "../src/service/drive";
import { queueCalls } from "../src/service/queue-offer";
import { durableQueues } from "./durable-queues";
import { durableWorkflows } from "./durable-workflows";
import { calling } from "./object-call";
import type { Bindings } from "./wiring";

export interface RunnerCalls {
  /** Takes the task of this id soon, if it may run; a run that goes on asks at once whether it is still wanted. */
  wake(id: string): Promise<void>;
}

/** Each task of a passive store has a runner of its own, named by its id, for as long as there is something to run. */
export const runnerDrive = (
  objects: Bindings,
  store: DriveParts["store"],
  clock: Clock,
  log: DriveParts["log"],
): Drive =>
  new Drive({
    store,
    clock,
    log,
    queues: queueCalls(durableQueues(objects), clock),
    workflows: durableWorkflows(objects, log),
    wake: (id) => calling(() => (objects.RUNNERS.getByName(id) as unknown as RunnerCalls).wake(id)),
  });
