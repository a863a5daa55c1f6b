import { TaskError } from "../task/errors";

/** The key as it came; throws `invalid` when it is none. It travels in a header, so it is visible ASCII. */
export function checkedKey<K extends string | undefined>(key: K): K {
  if (key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new TaskError("invalid", "An idempotency key has 1 to 255 visible ASCII characters.");
}
