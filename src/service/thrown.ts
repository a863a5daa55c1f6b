import { wasAudited } from "./audit";
import { ownerOf, type Principal } from "./principal";

// What every door does about an error, whatever its protocol calls it.

/** All that a caller reads of a fault of ours. */
export const FAULT = "The server could not answer; its log says why.";

/**
 * Leaves a line for the operator: that a call was refused, unless the service has written so, or why it failed. The text
 * of an exception goes to the log and nowhere else. `principal` is undefined where nobody was let in.
 */
export function logThrown(
  thrown: unknown,
  { status, code }: { readonly status: number; readonly code: string },
  log: ((line: object) => void) | undefined,
  principal?: Principal,
): void {
  if (status >= 500) {
    log?.({ level: "error", message: "A request failed.", error: textOf(thrown) });
  } else if (!wasAudited(thrown)) {
    log?.({ audit: "refuse", ...(principal && { principal: ownerOf(principal) }), code, status });
  }
}

/** An error as the operator reads it. */
export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The header that says how long to wait (RFC 9110 §10.2.3). */
export const retryAfter = (ms: number): { readonly "Retry-After": string } => ({
  "Retry-After": String(Math.max(1, Math.ceil(ms / 1000))),
});
