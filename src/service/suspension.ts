import { whenAborted } from "./when-aborted";

/** Ends a run that must wait. It travels through the tool as an exception; nothing of it is shown to anybody. */
export class Suspension extends Error {
  override readonly name = "Suspension";
  constructor() {
    super("The run is suspended and will be repeated; let this pass through your catch.");
  }
}

/** Also when the tool wrapped it in an error of its own. */
export function isSuspension(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < 8 && error instanceof Error; depth += 1) {
    if (error instanceof Suspension) return true;
    error = error.cause;
  }
  return false;
}

/** Why a run was told to stop. */
export class RunAborted extends Error {
  override readonly name = "RunAborted";
  override readonly cause: "settled" | "timeout";
  constructor(cause: RunAborted["cause"]) {
    super("The run was stopped.");
    this.cause = cause;
  }
}

/** What the work comes to; rejects once the signal aborts, so that a tool which ignores its signal cannot hold the run. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const abort = Promise.withResolvers<never>();
  const release = whenAborted(signal, () => abort.reject(signal.reason as Error));
  try {
    return await Promise.race([work, abort.promise]);
  } finally {
    release();
  }
}

/** setTimeout cannot reach further; a longer wait is cut in pieces. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** Resolves after `ms`, rejects when the signal aborts. */
export async function pause(ms: number, signal = new AbortController().signal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let left = ms;
  try {
    do {
      const piece = Math.min(left, LONGEST_TIMER_MS);
      await unlessAborted(signal, new Promise((resolve) => (timer = setTimeout(resolve, piece))));
      left -= piece;
    } while (left > 0);
  } finally {
    if (timer) clearTimeout(timer);
  }
}
