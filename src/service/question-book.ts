import { TaskError } from "../task/errors";
import { canonicalJson } from "../task/json";
import type { AskedQuestion } from "../task/questions";
import type { InputRequest, Question, Task } from "../task/task";

/** So many answers that no question of a repeated run fits say that the tool asks something else each time. */
const MAX_UNMATCHED = 10;

/** What one run has asked: finds the question that an ask means, and numbers the new ones. */
export class QuestionBook {
  readonly #used = new Set<string>();
  readonly #fresh: AskedQuestion[] = [];

  /**
   * The stored question of this key and just this request, each used once in a run; null when it was never asked. The
   * request counts and not the order: parallel flows of a tool may ask in another order when the run is repeated, and
   * consent to one thing must never be taken for consent to another.
   */
  find(task: Task, authorKey: string, request: InputRequest): Question | null {
    const unused = task.questions.filter(
      (question) =>
        question.authorKey === authorKey && question.state.kind !== "retired" && !this.#used.has(question.key),
    );
    const wanted = textOf(request);
    const found = unused.find((question) => textOf(firstAsked(task, question)) === wanted);
    if (found) {
      this.#used.add(found.key);
      return found;
    }
    if (unused.length >= MAX_UNMATCHED) {
      const advice = "Ask the same each time the run is repeated; put what changes into a step.";
      throw new TaskError("internal", `The tool asks something else under "${authorKey}" each time. ${advice}`);
    }
    return null;
  }

  /** The number of a new question under the key; no ask has the same key twice. */
  nextOccurrence(task: Task, authorKey: string): number {
    const known = [...task.questions, ...this.#fresh].filter((question) => question.authorKey === authorKey);
    return 1 + Math.max(0, ...known.map(({ occurrence }) => occurrence));
  }

  /** These answer nothing that is asked from here on. */
  passOver(questions: readonly Question[]): void {
    for (const { key } of questions) this.#used.add(key);
  }

  add(questions: readonly AskedQuestion[]): void {
    this.#fresh.push(...questions);
  }

  fresh(): readonly AskedQuestion[] {
    return this.#fresh;
  }
}

/** What was asked at first: asked again after an unusable answer, the message says why. */
const firstAsked = (task: Task, { authorKey, occurrence }: Question): InputRequest =>
  (
    task.questions.find(
      (question) => question.authorKey === authorKey && question.occurrence === occurrence,
    ) as Question
  ).request;

const textOf = ({ method, params }: InputRequest): string => canonicalJson({ method, params });
