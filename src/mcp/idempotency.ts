import { checkedKey } from "../service/idempotency-key";
import { TaskError } from "../task/errors";
import { IDEMPOTENCY_KEY } from "./schemas";

/** The caller's key for "the same call again", from the header or `_meta`. */
export function idempotencyKeyOf(
  headers: Headers,
  meta: { readonly [IDEMPOTENCY_KEY]?: string | undefined } | undefined,
): string | undefined {
  const header = headers.get("idempotency-key")?.trim();
  const member = meta?.[IDEMPOTENCY_KEY];
  for (const key of [header, member]) checkedKey(key);
  if (header !== undefined && member !== undefined && header !== member) {
    throw new TaskError("invalid", `The Idempotency-Key header and params._meta["${IDEMPOTENCY_KEY}"] differ.`);
  }
  return header ?? member;
}
