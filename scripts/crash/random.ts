import { mulberry32 } from "../../src/kit/random.ts";

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

export function randomFrom(seed: number): Random {
  const next = mulberry32(seed);
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
