import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { checkedUrl } from "../service/safe-fetch";
import { notFound, TaskError } from "../task/errors";
import type { PushTarget, PushWish } from "../task/task";
import { ToolError } from "../tool/define-tool";
import type { Handler } from "./ask";
import type { A2aDeps, Caller } from "./deps";
import { A2aError } from "./errors";

/** The push notification configurations of a task (A2A 1.0 §3.1.7–3.1.10), which only its owner sees. */
export function pushConfigs(deps: A2aDeps, caller: Caller) {
  const { tasks } = deps;
  const { principal } = caller;

  const list = async (taskId: string): Promise<TaskPushNotificationConfig[]> => {
    requirePush(deps);
    const { conversation } = await tasks.look(principal, taskId, { body: false, conversation: true });
    return (conversation?.push ?? []).map((target) => toConfig(taskId, target));
  };

  return {
    async createTaskPushNotificationConfig(config) {
      const target = newTarget(deps, caller, config);
      await tasks.setPush(principal, config.taskId, target);
      return toConfig(config.taskId, target);
    },

    async getTaskPushNotificationConfig({ taskId, id }) {
      // In 0.3 the id may be left out, where there is one configuration.
      const found = (await list(taskId)).find((config) => id === "" || config.id === id);
      if (!found) throw notFound();
      return found;
    },

    listTaskPushNotificationConfigs: async ({ taskId }) => ({ configs: await list(taskId), nextPageToken: "" }),

    async deleteTaskPushNotificationConfig({ taskId, id }) {
      requirePush(deps);
      await tasks.removePush(principal, taskId, id);
    },
  } satisfies Partial<Handler>;
}

/** The configuration as it is kept. Throws when its URL is none that may be called, before anything is stored. */
export function newTarget(deps: A2aDeps, { wire }: Caller, config: TaskPushNotificationConfig): PushWish {
  requirePush(deps);
  const { url, token, authentication } = config;
  try {
    checkedUrl(url, { allowLocal: deps.config.allowLocalFetch, secure: true });
  } catch (refused) {
    if (refused instanceof ToolError) throw new TaskError("invalid", `The push notification URL: ${refused.message}`);
    throw refused;
  }
  return {
    id: config.id || crypto.randomUUID(),
    url,
    token: token || null,
    authentication: authentication
      ? { scheme: authentication.scheme, credentials: authentication.credentials || null }
      : null,
    wire,
  };
}

function requirePush({ tasks }: A2aDeps): void {
  if (!tasks.pushes) throw new A2aError("push_not_supported", "This deployment's store sends no push notifications.");
}

/** Credentials and the token are never told again, not to their owner either. */
const toConfig = (taskId: string, { id, url, authentication }: PushWish | PushTarget): TaskPushNotificationConfig => ({
  tenant: "",
  id,
  taskId,
  url,
  token: "",
  authentication: authentication ? { scheme: authentication.scheme, credentials: "" } : undefined,
});
