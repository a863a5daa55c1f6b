import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import { isPassive } from "../src/service/check-store";
import { runWorkflow, type WorkflowEngine } from "../src/service/workflow-run";
import { durableSessions } from "./durable-sessions";
import { WAKE, type WorkflowParams } from "./durable-workflows";
import type { Bindings, Wiring } from "./wiring";

/** A step has a limit of ours; the engine's own is for a Workflow that lost count. */
const SLACK_MS = 60_000;

/** One task whose tool runs as a Workflow. It knows the task's id; what it does is stored with the task. */
export class TaskWorkflowBase extends WorkflowEntrypoint<Bindings, WorkflowParams> {
  readonly #wiring: Wiring;

  constructor(ctx: ExecutionContext, env: Bindings, wiring: Wiring) {
    super(ctx, env);
    this.#wiring = wiring;
  }

  override async run({ payload: { id } }: Readonly<WorkflowEvent<WorkflowParams>>, step: WorkflowStep): Promise<void> {
    const { registry, clock, configOf, storeOf, fetchFor, log } = this.#wiring;
    const config = configOf(this.env);
    const store = storeOf(this.env);
    const sessions = durableSessions({ objects: this.env });
    await runWorkflow({
      engine: engineOf(step),
      newLease: () => crypto.randomUUID(),
      work: (act) => store.work(id, act),
      registry,
      limits: config.limits,
      clock,
      random: Math.random,
      fetch: fetchFor(config),
      log: (level, message, data) => log(level, message, { task: id, ...data }),
      // A task object tells the session by itself.
      asking: async ({ client }) => isPassive(store) && client.session && sessions.asking(client.session, id),
    });
  }
}

/** The class the platform makes: it passes context and env only, so the wiring is closed over. */
export const taskWorkflow = (wiring: Wiring) =>
  class extends TaskWorkflowBase {
    constructor(ctx: ExecutionContext, env: Bindings) {
      super(ctx, env, wiring);
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
