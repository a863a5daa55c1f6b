/** Pseudo-random numbers that the same seed gives again. */
export type Random = {
  /** From 0 to below `below`. */
  whole(below: number): number;
};

export function randomFrom(seed: number): Random {
  const next = mulberry32(seed);
  return { whole: (below) => Math.floor(next() * below) };
}

/** In [0, 1): small, and the same everywhere. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
