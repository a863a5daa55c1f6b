import { findings } from "./evidence.ts";
import { textOf } from "./storage.ts";

/** One call, one task, however often it was made with its key; and no task that nobody called for. */
export const once = findings("one key, one task", function* ({ storage, journal }) {
  const tasks = Map.groupBy(storage.tasks.values(), (task) => {
    const args = JSON.parse(textOf(task, "arguments") ?? "{}") as { readonly note?: string };
    return args.note ?? "";
  });
  for (const [note, some] of tasks) {
    const ids = some.map(({ id }) => id).join(", ");
    if (!journal.notes.has(note)) yield `Nobody ever called for ${ids}.`;
    if (some.length > 1) yield `The errand ${note} became ${some.length} tasks: ${ids}.`;
    const told = journal.tasksByNote.get(note);
    if (told !== undefined && !some.some(({ id }) => id === told))
      yield `The errand ${note} became the task ${told}, and the task ${ids} is stored for it.`;
  }
});
