import type { Owner } from "../task/task";
import type { Limits } from "./limits";

/** Strictly, only the very owner. Leniently also where the task or the caller has no identity at all. */
export const mayTouch = (owner: Owner, caller: Owner, scoping: Limits["scoping"]): boolean =>
  owner === caller || (scoping === "lenient" && (owner === null || caller === null));
