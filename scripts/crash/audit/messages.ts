import { saidIn } from "../load/a2a-sights.ts";
import type { A2aMessage } from "../load/a2a-client.ts";
import { findings } from "./evidence.ts";

/** A message to a task that was acknowledged is stored with it, once, as it was sent. */
export const messages = findings("messages are kept", function* ({ storage, journal }) {
  for (const { id, said } of journal.tasks.values()) {
    const task = storage.tasks.get(id);
    if (!task) continue;
    const stored = [...task.values].flatMap(([slot, rows]) => {
      const [kind, messageId] = JSON.parse(slot) as readonly string[];
      return kind === "turn" ? [{ messageId, text: rows.join("") }] : [];
    });
    for (const [messageId, { text, heardAt }] of said) {
      const found = stored.filter((one) => one.messageId === messageId);
      if (found.length > 1 || (found.length === 0 && heardAt !== null))
        yield `The message ${messageId} to ${id} was ${heardAt === null ? "sent" : "acknowledged"}, and is stored ${found.length} times.`;
      for (const one of found) {
        const is = saidIn((JSON.parse(one.text) as A2aMessage).parts);
        if (is !== text) yield `The message ${messageId} to ${id} was ${text}, and is stored as ${is}.`;
      }
    }
  }
});
