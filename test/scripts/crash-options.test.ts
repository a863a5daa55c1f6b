import { describe, expect, it } from "vitest";
import { readOptions } from "../../scripts/crash/options";

describe("the options of npm run crash", () => {
  const read = (...args: readonly string[]) => readOptions(args, () => 7);

  it("have defaults, and a seed that is chosen", () => {
    expect(read()).toEqual({ kills: 20, seed: 7, clients: 24, keep: false });
    expect(read("--kills", "100", "--seed", "0", "--clients", "1", "--keep")).toEqual({
      kills: 100,
      seed: 0,
      clients: 1,
      keep: true,
    });
  });

  it("are refused by name", () => {
    expect(() => read("--kills", "many")).toThrow('--kills must be a whole number, 0 or more; it is "many".');
    expect(() => read("--clients", "0")).toThrow("--clients must be a whole number, 1 or more");
    expect(() => read("--speed", "9")).toThrow("--speed");
  });
});
