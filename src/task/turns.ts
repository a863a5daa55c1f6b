import type { Turn } from "./task";

/** What is kept of a conversation: the newest messages, so many and so many characters at most. */
const MAX_TURNS = 100;
const MAX_TURNS_LENGTH = 4_000_000;

/** Whether this very message came before. */
export const isKnown = (turns: readonly Turn[], { id, digest }: Turn): boolean =>
  turns.some((turn) => turn.id === id && turn.digest === digest);

/** The newest message is always kept, whatever its length. */
export function withTurn(turns: readonly Turn[], turn: Turn): readonly Turn[] {
  let length = turn.message.length;
  let from = turns.length;
  while (from > 0 && turns.length - from < MAX_TURNS - 1) {
    length += (turns[from - 1] as Turn).message.length;
    if (length > MAX_TURNS_LENGTH) break;
    from -= 1;
  }
  return [...turns.slice(from), turn];
}
