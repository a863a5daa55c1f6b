/**
 * All chance of a run comes from one seed. Whoever draws has a stream of its own, so that it does not matter who comes
 * first; what the machine adds to it by its speed is no chance of ours.
 */
export type Random = {
  /** In [0, 1). */
  readonly next: () => number;
  /** 0 to n - 1. */
  readonly below: (n: number) => number;
  /** `from` to `to`, both included. */
  readonly between: (from: number, to: number) => number;
  readonly of: <T>(all: readonly T[]) => T;
  readonly chance: (p: number) => boolean;
  /** Another stream; the same for the same name. */
  readonly fork: (name: string) => Random;
};

/** Mulberry32: small, and the same everywhere. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number): number => Math.floor(next() * n);
  return {
    next,
    below,
    between: (from, to) => from + below(to - from + 1),
    of: (all) => all[below(all.length)] as (typeof all)[number],
    chance: (p) => next() < p,
    fork: (name) => randomFrom(hash(`${seed} ${name}`)),
  };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let hashed = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hashed = Math.imul(hashed ^ text.charCodeAt(at), 0x01000193);
  return hashed >>> 0;
}
