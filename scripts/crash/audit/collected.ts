import { expiresAt } from "../../../src/task/task.ts";
import { findings } from "./evidence.ts";

/** `RETENTION` of a task without a ttl; no errand is one. */
const NEVER = Infinity;

/** What has expired is gone once the cron has been there, and nothing of it stays behind. */
export const collected = findings("expired is collected", function* ({ storage, now }) {
  for (const { id, facts } of storage.tasks.values()) {
    const at = expiresAt(facts, NEVER);
    if (at !== null && at <= now) yield `The task ${id} expired ${now - at} ms ago, and is still stored.`;
  }
  for (const object of storage.remains) yield `The object ${object} holds remains of a task, but no task.`;
});
