const LONGEST_MS = 60_000;

/** So many ms, or the longest; spread out, since many tasks may have failed together. */
export const backOff = (ms: number, longest: number, random: () => number): number =>
  Math.round(Math.min(longest, ms) * (0.75 + random() / 2));

/** ms to wait before the next attempt. */
export const attemptBackOff = (failures: number, random: () => number): number =>
  backOff(1000 * 2 ** failures, LONGEST_MS, random);

/** A deploy or two cost no time; a run that brings its process down again and again must not do so in a loop. */
export const restartPause = (restarts: number): number =>
  restarts < 3 ? 0 : Math.min(LONGEST_MS, 1000 * 2 ** (restarts - 3));
