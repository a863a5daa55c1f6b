import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MinuteCount } from "../../src/service/minute-count";
import { PollBucket } from "../../src/service/poll-bucket";

describe("PollBucket", () => {
  it("never refuses who keeps the advertised interval, whatever came before", () => {
    fc.assert(
      fc.property(fc.integer({ min: 250, max: 60_000 }), fc.integer({ min: 10, max: 200 }), (interval, burst) => {
        let now = 0;
        const bucket = new PollBucket(() => now, burst);
        for (let n = 0; n < 3 * burst; n += 1) bucket.take(interval);
        for (let n = 0; n < 3 * burst; n += 1) {
          now += interval;
          expect(bucket.take(interval)).toBeNull();
        }
      }),
    );
  });

  it("gives the burst at once, then refuses until a tenth of the interval has passed, and says how long", () => {
    let now = 0;
    const bucket = new PollBucket(() => now, 20);
    for (let n = 0; n < 20; n += 1) expect(bucket.take(1_000)).toBeNull();
    expect(bucket.take(1_000)).toBe(100);
    now += 99;
    expect(bucket.take(1_000)).toBe(1);
    now += 1;
    expect(bucket.take(1_000)).toBeNull();
    expect(bucket.take(1_000)).toBe(100);
  });
});

describe("MinuteCount", () => {
  it("counts within a minute and starts over with the next", () => {
    const count = new MinuteCount();
    expect([count.take(60_000, 2), count.take(75_000, 2), count.take(90_000, 2), count.take(119_999, 2)]).toEqual([
      null,
      null,
      30_000,
      1,
    ]);
    expect(count.take(120_000, 2)).toBeNull();
  });
});
