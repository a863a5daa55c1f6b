import type { Progress } from "../task/task";
import type { Rank } from "./carrier";
import type { Principal } from "./principal";
import type { TaskService } from "./task-service";
import type { OpenQuestion, TaskSnapshot } from "./task-store";

export type HoldOptions = {
  /** The longest the caller waits; 0 only looks. */
  readonly waitMs: number;
  /** Aborts when the caller has left: the task is not touched by that. */
  readonly signal: AbortSignal;
  /** With `deliver` only while this caller is the one that carries. */
  readonly onProgress?: (progress: Progress) => void;
  /** Offers to ask the task's questions on the caller's own stream; else the hold ends when the task asks something. */
  readonly deliver?: Rank;
  /** This caller carries: what is open at first (perhaps nothing), then what is newly asked. False ends the hold: the caller cannot ask one of these. */
  readonly onDeliver?: (questions: readonly OpenQuestion[]) => boolean;
};

/**
 * Holds a call of a client without tasks open on the task behind it (design decision 14). Such a task is started with
 * `bridged` in its client facts. The task as it stands in the end: settled, asking what the caller cannot ask for it, or
 * still at work when the time is up. Throws `not_found`; rejects with the signal's reason.
 */
export async function holdTask(
  tasks: TaskService,
  principal: Principal,
  id: string,
  options: HoldOptions,
): Promise<TaskSnapshot> {
  const { waitMs, signal, onProgress, deliver, onDeliver } = options;
  if (waitMs <= 0) return tasks.look(principal, id);
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), waitMs);
  let carries = deliver === undefined;
  let reached: Progress | null = null;
  const tell = (progress: Progress | null): void => {
    reached = progress ?? reached;
    if (carries && reached) onProgress?.(reached);
  };
  try {
    return await tasks.settle(principal, id, {
      signal: AbortSignal.any([signal, over.signal]),
      restAt: deliver === undefined ? "input" : "settled",
      onSnapshot: ({ progress }) => tell(progress),
      onEvent: ({ progress }) => progress && tell(progress),
      ...(deliver === undefined ? {} : { deliver }),
      onRelieved: () => (carries = false),
      onDeliver(questions) {
        if (!carries) {
          carries = true;
          // What was reached before is news to whoever only begins to listen.
          tell(reached);
        }
        if (onDeliver?.(questions) === false) over.abort();
      },
    });
  } catch (thrown) {
    if (signal.aborted || !over.signal.aborted) throw thrown;
  } finally {
    clearTimeout(timer);
  }
  return tasks.look(principal, id);
}
