import { pause } from "../src/service/suspension";
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
export async function calling<T>(call: () => Promise<T>, attempts = ATTEMPTS): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const { retryable, overloaded, durableObjectReset } = Object(error) as PlatformFault;
      if (!retryable && !overloaded && !durableObjectReset) throw error;
      // An overloaded object is not helped by more calls.
      if (overloaded || attempt === attempts) {
        throw new TaskError("overloaded", "The task store is busy or restarting. Try again in a moment.", {
          retryAfterMs: RETRY_AFTER_MS,
        });
      }
      await pause(FIRST_DELAY_MS * 4 ** (attempt - 1) * (0.5 + Math.random()));
    }
  }
}

/** Calls an object once: for what must not happen, or be reported, twice. */
export const callingOnce = <T>(call: () => Promise<T>): Promise<T> => calling(call, 1);

/** Methods of an object that only pass on what they are given, and may be repeated; the stub may depend on it. */
export const passedOn = <Given extends unknown[], Calls, Name extends keyof Calls>(
  stub: (...given: Given) => Calls,
  ...names: readonly Name[]
): Pick<Calls, Name> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      (...given: unknown[]) => calling(() => (stub(...(given as Given))[name] as Method)(...given)),
    ]),
  ) as Pick<Calls, Name>;

/** What the types of stubs say in full. */
type Method = (...given: unknown[]) => Promise<unknown>;
