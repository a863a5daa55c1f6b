import { reportIn } from "../load/errands.ts";
import { endOf } from "./ends.ts";
import { findings } from "./evidence.ts";
import { textOf } from "./storage.ts";

/** An answer that was acknowledged counts, unless another one came first; and nothing counts that nobody sent. */
export const answers = findings("answers count", function* ({ storage, journal }) {
  for (const { id, answers: given, said } of journal.tasks.values()) {
    const task = storage.tasks.get(id);
    if (!task) continue;
    const end = endOf(task);
    const report = reportIn(end?.report ?? null);
    // In words they answer what is open when they come.
    const inWords = [...said.values()].flatMap(({ answer }) => answer ?? []);
    for (const [key, { sent, acknowledged }] of given) {
      const question = task.facts.questions.find((asked) => asked.key === key);
      if (!question) {
        yield `The task ${id} was answered ${key}, and never asked it.`;
        continue;
      }
      const stored = question.state.kind === "answered" ? textOf(task, "answer", key) : null;
      // What comes after a cancellation is acknowledged too, and changes nothing.
      const isLate = stored === null && end?.kind === "cancelled";
      if (acknowledged && !isLate && (stored === null || ![...sent, ...inWords].includes(stored)))
        yield `An answer to ${key} of ${id} was acknowledged, and ${stored ?? "none"} is stored: ${sent.join(" or ")} was sent.`;
      if (report && stored !== null && JSON.stringify(report.answers[key]) !== stored)
        yield `The task ${id} was answered ${stored}, and reports ${JSON.stringify(report.answers[key])} for ${key}.`;
    }
  }
});
