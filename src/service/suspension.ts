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

/** Rejects when the signal aborts, so that a tool which ignores its signal cannot hold the run. */
export function aborted(signal: AbortSignal): { readonly promise: Promise<never>; readonly release: () => void } {
  let release = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal?.reason as Error);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    release = () => signal.removeEventListener("abort", onAbort);
  });
  promise.catch(() => {});
  return { promise, release };
}

/** setTimeout cannot reach further; a longer wait is cut in pieces. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** Resolves after `ms`, rejects when the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let left = ms;
  do {
    await pauseOnce(Math.min(left, LONGEST_TIMER_MS), signal);
    left -= LONGEST_TIMER_MS;
  } while (left > 0);
}

function pauseOnce(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
