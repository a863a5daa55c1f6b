import { parseArgs } from "node:util";

export type Options = {
  readonly kills: number;
  readonly seed: number;
  readonly clients: number;
  /** Leave the state directory where it is. */
  readonly keep: boolean;
};

export const USAGE = `npm run crash -- [--kills N] [--seed S] [--clients K] [--keep]

  --kills N     how often the server is killed (20)
  --seed S      repeats the schedule and the choices of an earlier run (chosen anew)
  --clients K   how many clients act at once (24)
  --keep        leaves the state directory behind, for a look at it`;

/** Throws a line for people where the arguments are no good. */
export function readOptions(args: readonly string[], anySeed: () => number): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: "string", default: "20" },
      seed: { type: "string" },
      clients: { type: "string", default: "24" },
      keep: { type: "boolean", default: false },
    },
  });
  const { seed } = values;
  return {
    kills: whole("kills", values.kills, 0),
    seed: seed === undefined ? anySeed() : whole("seed", seed, 0),
    clients: whole("clients", values.clients, 1),
    keep: values.keep,
  };
}

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && text.trim() !== "") return value;
  throw new Error(`--${name} must be a whole number, ${least} or more; it is ${JSON.stringify(text)}.`);
}
