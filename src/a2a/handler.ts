import type { Task } from "@a2a-js/sdk";
import type { Handler } from "./ask";
import { extendedCard } from "./card";
import type { A2aDeps, Caller } from "./deps";
import { A2aError } from "./errors";
import { pushConfigs } from "./push-configs";
import { send, waitFor } from "./send";
import { listTasks } from "./task-list";
import { taskStream } from "./task-stream";
import { toTask } from "./view";

/** The operations of A2A 1.0 (§3.1) for one caller: each an act of the task service, whatever transport it came by. */
export function handlerFor(deps: A2aDeps, caller: Caller): Handler {
  const { tasks } = deps;
  const { principal, signal, origin } = caller;

  /** The task as the caller may read it now. Its history is read only where some of it is wanted. */
  const read = async (id: string, historyLength: number | undefined): Promise<Task> => {
    const task = await tasks.look(principal, id, { conversation: historyLength !== 0 });
    return toTask(task, { historyLength });
  };

  return {
    getAuthenticatedExtendedAgentCard: () => extendedCard(deps, origin, principal),

    async sendMessage(request) {
      const sent = await send(deps, caller, request);
      if (typeof sent !== "string") return sent;
      const { historyLength, returnImmediately = false } = request.configuration ?? {};
      const held = returnImmediately ? null : await waitFor(deps, caller, sent);
      return held && historyLength === 0 ? toTask(held, { historyLength }) : read(sent, historyLength);
    },

    async *sendMessageStream(request) {
      const sent = await send(deps, caller, request);
      if (typeof sent !== "string") return yield { payload: { $case: "message", value: sent } };
      const { historyLength } = request.configuration ?? {};
      yield* taskStream(tasks, principal, sent, { signal, historyLength, restAt: "input" });
    },

    async getTask({ id, historyLength }) {
      const task = await tasks.get(principal, id, { conversation: historyLength !== 0 });
      return toTask(task, { historyLength });
    },

    listTasks: (request) => listTasks(deps, principal, request),

    async cancelTask({ id }) {
      const { task, changed } = await tasks.cancel(principal, id);
      const { stage } = task;
      if (!changed && stage.phase === "settled" && stage.outcome.kind !== "cancelled") {
        throw new A2aError("not_cancelable", "The task has ended already, and not by being canceled.");
      }
      return read(id, undefined);
    },

    async *resubscribe({ id }) {
      yield* taskStream(tasks, principal, id, { signal, historyLength: undefined, restAt: "settled" });
    },

    ...pushConfigs(deps, caller),
  };
}
