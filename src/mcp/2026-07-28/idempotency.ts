import { idempotencyKeyOf as readKey } from "../idempotency";
import type { Call } from "./call";
import type { RequestMeta } from "./schemas";

/** Undefined also for anonymous callers: they share nothing, so their key could find no task of theirs. */
export function idempotencyKeyOf({ headers, principal }: Call, meta: RequestMeta): string | undefined {
  const key = readKey(headers, meta);
  return principal.kind === "anonymous" ? undefined : key;
}
