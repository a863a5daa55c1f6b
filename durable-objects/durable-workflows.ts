import type { HostParts } from "../src/service/host-parts";
import type { WorkflowCalls } from "../src/service/workflow-calls";
import { decodeTaskId } from "../src/task-id";
import type { Bindings } from "./wiring";

/** What a Workflow is sent that waits for its task to change. */
export const WAKE = "wake";

/** What a Workflow is made with; all else its task knows. */
export type WorkflowParams = { readonly id: string };

/** Why nobody goes on with the task, by the status of its Workflow. */
const ENDED: Partial<Record<InstanceStatus["status"], string>> = {
  complete: "The Workflow that ran this task ended without an outcome.",
  errored: "The Workflow that ran this task failed.",
  terminated: "The Workflow that ran this task was terminated.",
};

/** The Workflows over their binding; undefined where the deployment has none. */
export function durableWorkflows(
  { TASK_WORKFLOW: workflow }: Pick<Bindings, "TASK_WORKFLOW">,
  log: HostParts["log"],
): WorkflowCalls | undefined {
  if (!workflow) return undefined;
  const make = (id: string) => workflow.create({ id: instanceOf(id), params: { id } });
  const find = (id: string) => workflow.get(instanceOf(id)).catch(() => null);
  return {
    async wake({ id, startedAt }) {
      // Made once before, it is there, and making it again fails as it does where the engine cannot be reached.
      const made = startedAt === null ? await make(id).catch(() => null) : null;
      if (made) return null;
      const instance = await find(id);
      if (!instance) {
        await make(id);
        return null;
      }
      const { status, error } = await instance.status();
      if (status === "unknown") throw new Error("The engine does not know how the Workflow stands.");
      // One that is paused will look for itself. One that is queued may have lost its engine before it ever began, and is
      // begun by whatever reaches it.
      if (status === "queued" || status === "running" || status === "waiting")
        await instance.sendEvent({ type: WAKE, payload: {} });
      if (error) log("error", "A Workflow failed.", { task: id, error: `${error.name}: ${error.message}` });
      return ENDED[status] ?? null;
    },
    async end({ id }) {
      const instance = await find(id);
      // One that is over already refuses.
      await instance?.terminate().catch(() => {});
    },
  };
}

/** The hex of the id, as the platform speaks; ids that a store of one's own made up are taken as they are. */
const instanceOf = (id: string): string => decodeTaskId(id) ?? id;
