import { endOf } from "./ends.ts";
import { findings } from "./evidence.ts";

/** What came of a worker's task is what one worker sent, and none that was turned down. */
export const work = findings("one lease, one end", function* ({ storage, journal }) {
  for (const id of journal.work.tasks) {
    const task = storage.tasks.get(id);
    const end = task && endOf(task);
    if (!end || end.report === null) continue;
    const sent = journal.work.of(id, end.report);
    if (sent === "refused") yield `The task ${id} ended as a lease told it that was not in force: ${end.report}.`;
    else if (sent === undefined && end.kind === "result")
      yield `The task ${id} ended as no worker ever told: ${end.report}.`;
  }
});

/** At rest a queue has nothing left: whatever waited was claimed, and who claims finds what has ended and drops it. */
export const queues = findings("queues are empty", function* ({ storage }) {
  for (const { queue, id } of storage.queued)
    yield `The queue ${queue} still has ${id}, which is ${storage.tasks.get(id)?.facts.stage.phase ?? "gone"}.`;
});
