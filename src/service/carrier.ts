/** How willing a watcher is to carry a task's questions and progress to its client; 0 only watches. */
export type Rank = 0 | 1 | 2;

export type Watcher = {
  readonly rank: Rank;
  /** Order of attachment. */
  readonly since: number;
  readonly carries: boolean;
  /** It has sent a question that is still open. */
  readonly holds: boolean;
};

/**
 * Which one watcher carries: a message goes to a client on exactly one stream (MCP 2025-11-25 transports §Multiple
 * Connections). Whoever has sent an open question keeps it until its stream closes, lest a person be asked twice;
 * otherwise the more willing, then the older.
 */
export function elect<W extends Watcher>(watchers: readonly W[]): W | null {
  const held = watchers.find((watcher) => watcher.carries && watcher.holds);
  if (held) return held;
  const [best] = watchers.filter(({ rank }) => rank > 0).sort((a, b) => b.rank - a.rank || a.since - b.since);
  return best ?? null;
}
