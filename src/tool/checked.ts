import type { JsonObject } from "../task/json";

/** What a value came to. `message` names the field and what it wants, for the model to act on. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

/** A schema ready to use: what `tools/list` shows of it, and the check that was made from it once. */
export type CompiledSchema = {
  readonly schema: JsonObject;
  /** `root` is what the value is called in the message, e.g. `arguments`. */
  check(value: unknown, root: string): Checked<unknown>;
};
