/** Pseudo-random numbers that the same seed gives again (mulberry32). */
export type Random = {
  /** From 0 to below `below`. */
  whole(below: number): number;
};

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { whole: (below) => Math.floor(next() * below) };
}
