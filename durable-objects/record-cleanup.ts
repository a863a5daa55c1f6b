import type { Namespace } from "../src/record/record";
import type { DueRow } from "../src/service/task-index";
import type { DurableRecordStoreParts } from "./durable-record-store";
import { calling } from "./object-call";
import { recordIndexStub, type SettledRow } from "./record-rpc";
import { collectRecords, indexesOf, spaceOf } from "./record-spaces";

const AT_ONCE = 32;

type Cleanup = {
  readonly namespace: Namespace;
  readonly space: string | null;
  readonly defaultTtlMs: number;
  readonly budget: number;
};

/**
 * Collects a space on demand: what is due, then what is final and older than it may be. Where it stops the rest is still
 * there, so the next call goes on. Any number at once are safe: each row goes once, and is counted by whoever took it.
 */
export async function cleanUpRecords(
  parts: DurableRecordStoreParts,
  { namespace, space, defaultTtlMs, budget }: Cleanup,
): Promise<{ readonly removed: number; readonly more: boolean }> {
  const { objects, limits, clock } = parts;
  const retentionMs = Math.min(defaultTtlMs, limits.retentionMs);
  let left = budget;
  let removed = 0;
  for (const name of indexesOf(namespace, space)) {
    const index = () => recordIndexStub(objects, name);
    /** Takes one batch after another from a walk over the index; says whether it came to the end. */
    const collect = async <Row extends Omit<DueRow, "confirmed">>(
      next: (limit: number, after: Row | undefined) => Promise<readonly Row[]>,
    ): Promise<boolean> => {
      for (let last: Row | undefined; ;) {
        // With nothing left to spend, one row tells that there is more.
        const rows = await next(Math.max(1, Math.min(AT_ONCE, left)), last);
        if (rows.length === 0) return true;
        if (left === 0) return false;
        left -= rows.length;
        const swept = await collectRecords(parts, spaceOf({ namespace, space }), name, rows, retentionMs);
        removed += swept.removed;
        last = rows.at(-1);
      }
    };
    const now = clock();
    const isDone =
      (await collect<DueRow>((limit) => calling(() => index().due(now, limit)))) &&
      (await collect<SettledRow>((limit, after) =>
        calling(() => index().settledBefore(now - retentionMs, limit, after)),
      ));
    if (!isDone) return { removed, more: true };
  }
  return { removed, more: false };
}
