import { TaskError } from "../../task/errors";
import type { Call } from "./call";
import { IDEMPOTENCY_KEY, type RequestMeta } from "./schemas";

/**
 * The caller's key for "the same call again", from the header or `_meta`. Undefined without one, and for anonymous
 * callers: they share nothing, so their key could find no task of theirs.
 */
export function idempotencyKeyOf({ headers, principal }: Call, meta: RequestMeta): string | undefined {
  const header = headers.get("idempotency-key")?.trim();
  const { [IDEMPOTENCY_KEY]: member } = meta;
  for (const key of [header, member]) {
    if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key)) {
      throw new TaskError("invalid", "An idempotency key has 1 to 255 visible ASCII characters.");
    }
  }
  if (header !== undefined && member !== undefined && header !== member) {
    throw new TaskError("invalid", `The Idempotency-Key header and params._meta["${IDEMPOTENCY_KEY}"] differ.`);
  }
  return principal.kind === "anonymous" ? undefined : (header ?? member);
}
