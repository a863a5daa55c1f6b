import { findings } from "./evidence.ts";
import { stepsOf, textOf, type StoredTask } from "./storage.ts";

/** From one death to the next a stored task only goes forward: what it had settled stays, and its log grows at the end. */
export const unchanged = findings("what is stored stays", function* ({ storage, before, now }) {
  for (const [id, earlier] of before?.tasks ?? []) {
    const later = storage.tasks.get(id);
    if (later) yield* changes(earlier, later);
    else if (!mayBeGone(earlier, now)) yield `The task ${id} was stored, has not expired, and is gone.`;
  }
});

/** A ttl may have grown since, and never shrinks. */
const mayBeGone = ({ facts: { createdAt, ttlMs } }: StoredTask, now: number): boolean =>
  ttlMs !== null && now >= createdAt + ttlMs;

function* changes(earlier: StoredTask, later: StoredTask): Generator<string> {
  const { id } = earlier;
  for (const [key, rows] of stepsOf(earlier)) {
    const now = stepsOf(later).get(key)?.join("");
    if (now !== rows.join(""))
      yield `The step ${key} of ${id} was stored as ${rows.join("")}, and is ${now ?? "gone"} now.`;
  }
  const grown = JSON.stringify(later.log.slice(0, earlier.log.length));
  if (grown !== JSON.stringify(earlier.log))
    yield `The log of ${id} was rewritten; it began with ${JSON.stringify(earlier.log)}, and now with ${grown}.`;
  if (earlier.facts.stage.phase !== "settled") return;
  if (endText(earlier) !== endText(later))
    yield `The task ${id} had ended as ${endText(earlier)}, and has ended as ${endText(later)} now.`;
}

const endText = (task: StoredTask): string =>
  `${JSON.stringify(task.facts.stage)} ${textOf(task, "outcome") ?? ""}`.slice(0, 500);
