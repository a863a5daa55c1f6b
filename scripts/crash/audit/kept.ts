import { findings } from "./evidence.ts";

/** Every task that a client was told of is there, until it may be gone. */
export const kept = findings("acknowledged is kept", function* ({ storage, journal, now }) {
  for (const { id, door, expiresAt } of journal.tasks.values()) {
    if (storage.tasks.has(id) || (expiresAt !== null && now >= expiresAt)) continue;
    yield `The task ${id} was acknowledged over ${door}, and storage does not have it.`;
  }
});
