import { TaskError } from "../src/task/errors";

const ATTEMPTS = 4;
const FIRST_DELAY_MS = 25;
const RETRY_AFTER_MS = 1_000;

/** What the platform puts on an error that is its own and not the object's. */
type PlatformFault = {
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
  readonly durableObjectReset?: boolean;
};

/**
 * Calls an object, again when the platform failed: a deploy resets objects at any time. For reads and for writes that
 * may be repeated. `call` makes its stub anew each time, since a stub whose object was reset stays broken.
 */
export async function calling<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!mayRepeat(error) || attempt === ATTEMPTS) throw asTaskError(error);
      await pause(FIRST_DELAY_MS * 4 ** (attempt - 1) * (0.5 + Math.random()));
    }
  }
}

/** Calls an object once: for what must not happen, or be reported, twice. */
export async function callingOnce<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asTaskError(error);
  }
}

/** Resolves early when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

const faultOf = (error: unknown): PlatformFault => (typeof error === "object" && error !== null ? error : {});

/** An overloaded object is not helped by more calls. */
function mayRepeat(error: unknown): boolean {
  const { retryable, overloaded, durableObjectReset } = faultOf(error);
  return overloaded !== true && (retryable === true || durableObjectReset === true);
}

function asTaskError(error: unknown): unknown {
  const { retryable, overloaded, durableObjectReset } = faultOf(error);
  if (!retryable && !overloaded && !durableObjectReset) return error;
  return new TaskError("overloaded", "The task store is busy or restarting. Try again in a moment.", {
    retryAfterMs: RETRY_AFTER_MS,
  });
}
