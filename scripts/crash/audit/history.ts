import { findings } from "./evidence.ts";
import { stepsOf, type StoredTask } from "./storage.ts";

/** The log of each task is one whole life: it begins once, and ends once or not at all. */
export const history = findings("one end", function* ({ storage }) {
  for (const task of storage.tasks.values()) yield* faultsOf(task);
});

function* faultsOf(task: StoredTask): Generator<string> {
  const { id, log, facts } = task;
  const numbers = log.map(({ seq }) => seq);
  if (log[0]?.event !== "created") yield `The log of ${id} does not begin with its creation.`;
  if (numbers.some((seq, at) => at > 0 && seq <= (numbers[at - 1] as number)))
    yield `The log of ${id} is out of order: ${numbers.join(" ")}.`;
  const ends = log.filter(({ phase }) => phase === "settled");
  const isSettled = facts.stage.phase === "settled";
  if (ends.length !== (isSettled ? 1 : 0))
    yield `The task ${id} is ${facts.stage.phase}, and its log has ${ends.length} ends: ${ends.map(({ event, seq }) => `${event} (${seq})`).join(", ")}.`;
  if (isSettled && log.at(-1)?.phase !== "settled") yield `The log of ${id} goes on after its end.`;
  if (isSettled && log.at(-1)?.seq !== facts.version)
    yield `The task ${id} is at version ${facts.version}, and its log ends at ${log.at(-1)?.seq}.`;
  const stored = stepsOf(task).size;
  const stepped = log.filter(({ event }) => event === "stepped").length;
  if (stepped !== stored) yield `The task ${id} has ${stored} steps, and its log ${stepped}.`;
}
