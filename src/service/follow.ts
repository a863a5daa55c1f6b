import type { Owner } from "../task/task";
import { Channel, closeOnAbort } from "./channel";
import type { TaskSnapshot, TaskStore } from "./task-store";

export type FollowMessage =
  | { readonly kind: "task"; readonly task: TaskSnapshot }
  /** It expired: the last known facts, for one last `failed` message. */
  | { readonly kind: "gone"; readonly task: TaskSnapshot };

export type Followed = { readonly namespace: string; readonly owner: Owner; readonly ids: readonly string[] };

/**
 * Follows tasks by snapshots. An identified owner's changes come over one feed of everything it has; an anonymous
 * caller has no such feed, so each task's own is watched. A change only says that a task moved: the body is read then.
 */
export async function* follow(
  store: TaskStore,
  { namespace, owner, ids }: Followed,
  signal: AbortSignal,
): AsyncIterable<FollowMessage> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const changes = new Channel<string>();
  closeOnAbort(changes, both);
  const latest = new Map<string, TaskSnapshot | null>(ids.map((id) => [id, null]));
  const waiting = new Set<string>();
  const changed = (id: string): void => {
    // One read answers for all changes that came before it.
    if (!latest.has(id) || waiting.has(id)) return;
    waiting.add(id);
    changes.push(id);
  };
  const listen = async (whose: string): Promise<void> => {
    for await (const message of store.listen(namespace, whose, both)) {
      // `ready` comes first, and again after a redeploy: whatever moved in between is read anew.
      if (message.kind === "ready") for (const id of latest.keys()) changed(id);
      else changed(message.id);
    }
  };
  const watch = async (id: string): Promise<void> => {
    const feed = await store.watch({ id, owner: null }, { signal: both });
    changed(id);
    for await (const message of feed ?? []) {
      if (message.kind !== "event" || message.entry.event !== "stepped") changed(id);
    }
    changed(id);
  };
  const sources = owner === null ? [...latest.keys()].map(watch) : [listen(owner)];
  // A source that breaks ends the stream, and not as if all were well: the caller may open another.
  for (const source of sources) source.catch((reason: unknown) => changes.close({ reason }));
  try {
    for await (const id of latest.size === 0 ? [] : changes) {
      waiting.delete(id);
      const before = latest.get(id) ?? null;
      const task = await store.read({ id, owner });
      if (task === null) {
        latest.delete(id);
        if (before) yield { kind: "gone", task: before };
      } else if (before === null || task.version > before.version) {
        latest.set(id, task);
        yield { kind: "task", task };
        if (task.stage.phase === "settled") latest.delete(id);
      }
      if (latest.size === 0) return;
    }
  } finally {
    stop.abort();
    await Promise.allSettled(sources);
  }
}
