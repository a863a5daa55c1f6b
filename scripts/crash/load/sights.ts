// What the revisions show of a task, in the journal's words.
import type { Outcome, Sight } from "../journal.ts";
import type { Fields } from "../wire.ts";
import { outcomeIn, stepsIn } from "./errands.ts";

type Seen = Pick<Sight, "view" | "text" | "sent">;

/** MCP 2026-07-28: flat, with its questions or its end. */
export function sightOf2026(task: Fields, seen: Seen): Sight {
  const { status, inputRequests = {} } = task;
  return {
    ...seen,
    ...factsOf(task),
    expiresAt: expiryOf(task, "ttlMs"),
    open: status === "input_required" ? Object.keys(inputRequests as Fields) : [],
    ...(isOpen(status) ? {} : { outcome: endOf2026(task) }),
  };
}

/** MCP 2025-11-25: what it asks and how it ended is not told here. */
export const sightOf2025 = (task: Fields, seen: Seen): Sight => ({
  ...seen,
  ...factsOf(task),
  expiresAt: expiryOf(task, "ttl"),
  ...(task["status"] === "cancelled" ? { outcome: CANCELLED } : {}),
});

/** When it may be gone; never, where it has no ttl. */
export function expiryOf({ createdAt, ...task }: Fields, ttl: "ttl" | "ttlMs"): number {
  const ms = task[ttl];
  return typeof ms === "number" ? Date.parse(String(createdAt)) + ms : Infinity;
}

export const CANCELLED: Outcome = { kind: "cancelled", report: null };

function factsOf({ status, statusMessage }: Fields): Pick<Sight, "status" | "steps"> {
  const steps = stepsIn(statusMessage);
  return { status: isOpen(status) ? status : "settled", ...(steps ? { steps } : {}) };
}

const isOpen = (status: unknown): status is "working" | "input_required" =>
  status === "working" || status === "input_required";

function endOf2026({ status, result, error }: Fields): Outcome {
  const end = { result: result as Fields | undefined, error: error as { readonly message: string } | undefined };
  return (status === "cancelled" ? undefined : outcomeIn(end)) ?? CANCELLED;
}
