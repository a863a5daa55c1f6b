import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import { isPassive } from "../src/service/check-store";
import { runWorkflow, type WorkflowEngine } from "../src/service/workflow-run";
import { WAKE, type WorkflowParams } from "./durable-workflows";
import { runParts } from "./run-parts";
import type { Bindings, Wiring } from "./wiring";

/** A step has a limit of ours; the engine's own is for a Workflow that lost count. */
const SLACK_MS = 60_000;

/** One task whose tool runs as a Workflow. It knows the task's id; what it does is stored with the task. */
export const taskWorkflow = (wiring: Wiring) =>
  class extends WorkflowEntrypoint<Bindings, WorkflowParams> {
    override async run(
      { payload: { id } }: Readonly<WorkflowEvent<WorkflowParams>>,
      step: WorkflowStep,
    ): Promise<void> {
      const parts = runParts(wiring, this.env);
      const store = wiring.storeOf(this.env);
      await runWorkflow({
        ...parts,
        engine: engineOf(step),
        newLease: () => crypto.randomUUID(),
        work: (act) => store.work(id, act),
        log: (level, message, data) => parts.log(level, message, { task: id, ...data }),
        // A task object tells the session by itself.
        asking: async (...told) => (isPassive(store) ? parts.asking(...told) : undefined),
      });
    }
  };

/** Attempts are counted by the task, so the engine makes none of its own. */
const engineOf = (step: WorkflowStep): WorkflowEngine => ({
  async step(name, limitMs, work) {
    await step.do(name, { retries: { limit: 0, delay: 0 }, timeout: seconds(limitMs + SLACK_MS) }, work);
  },
  sleep: (name, ms) => step.sleepUntil(name, new Date(Date.now() + ms)),
  async wait(name, ms) {
    try {
      await step.waitForEvent(name, { type: WAKE, timeout: seconds(ms) });
    } catch (error) {
      if (!/timed out|timeout/i.test(String(error))) throw error;
    }
  },
});

const seconds = (ms: number): `${number} seconds` => `${Math.ceil(ms / 1000)} seconds`;
