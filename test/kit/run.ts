import { describe, it } from "vitest";
import { recordContract } from "../../src/kit/contract";
import { randomInterleavings } from "../../src/kit/interleavings";
import type { Subject } from "../../src/kit/subject";

export type RunOptions = {
  /** Interleavings of B10; fewer where each call is slow. */
  readonly runs?: number;
  /** To see one failure again. */
  readonly seed?: number;
  readonly timeoutMs?: number;
};

/** The whole contract kit as tests. `makeSubject` is called for each; it may give the same one every time. */
export function describeRecords(
  name: string,
  makeSubject: () => Subject | Promise<Subject>,
  { runs = 1_000, seed = Math.floor(Math.random() * 2 ** 32), timeoutMs = 60_000 }: RunOptions = {},
): void {
  describe(name, () => {
    it.each(recordContract.map((item) => [`${item.id} ${item.title}`, item] as const))(
      "%s",
      async (_, item) => item.run(await makeSubject()),
      timeoutMs,
    );

    it(
      `B10 serialises ${runs} random interleavings of many callers`,
      async () => randomInterleavings(await makeSubject(), { runs, seed }),
      timeoutMs,
    );
  });
}
