const LONGEST_MS = 60_000;

/** ms to wait before the next attempt; spread out, since many tasks may have failed together. */
export const attemptBackOff = (failures: number, random: () => number): number =>
  Math.round(Math.min(LONGEST_MS, 1000 * 2 ** failures) * (0.75 + random() / 2));

/** A deploy or two cost no time; a run that brings its process down again and again must not do so in a loop. */
export const restartPause = (restarts: number): number =>
  restarts < 3 ? 0 : Math.min(LONGEST_MS, 1000 * 2 ** (restarts - 3));
