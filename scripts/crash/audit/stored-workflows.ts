// The local engine of Workflows keeps a log of each of them, in a database of its own.
import type { Fields } from "../wire.ts";
import type { Rows } from "./disk.ts";
import type { StoredWorkflow, WorkflowEnd } from "./storage.ts";

/** Kinds of entries, by the engine's numbers. */
const QUEUED = 0;
const FAILURE = 3;
const ENDS: { readonly [kind: number]: WorkflowEnd } = { 2: "complete", [FAILURE]: "errored", 4: "terminated" };

/** Null for one that was not begun before its engine died. */
export function workflowIn(rows: Rows): StoredWorkflow | null {
  const entries = rows("states").map(({ event, metadata }) => ({
    kind: Number(event),
    more: JSON.parse(String(metadata)) as Fields,
  }));
  const made = entries.find(({ kind, more }) => kind === QUEUED && more["params"] !== undefined);
  if (!made) return null;
  const { id } = made.more["params"] as { readonly id: string };
  const failure = entries.find(({ kind }) => kind === FAILURE);
  return {
    task: id,
    ends: entries.flatMap(({ kind }) => ENDS[kind] ?? []),
    error: failure ? JSON.stringify(failure.more["error"]) : null,
  };
}
