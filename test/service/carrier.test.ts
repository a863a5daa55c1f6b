import { describe, expect, it } from "vitest";
import { elect, type Watcher } from "../../src/service/carrier";

const watcher = (rank: 0 | 1 | 2, since: number, more: Partial<Watcher> = {}): Watcher => ({
  rank,
  since,
  carries: false,
  holds: false,
  ...more,
});

describe("elect", () => {
  it("finds nobody among those who only watch", () => {
    expect(elect([])).toBeNull();
    expect(elect([watcher(0, 1), watcher(0, 2)])).toBeNull();
  });

  it("prefers the more willing, then the older", () => {
    expect(elect([watcher(1, 1), watcher(2, 3), watcher(2, 2)])).toMatchObject({ rank: 2, since: 2 });
    expect(elect([watcher(1, 5), watcher(1, 4), watcher(0, 1)])).toMatchObject({ since: 4 });
  });

  it("lets whoever sent an open question keep it, and passes on a carrier that sent none", () => {
    expect(elect([watcher(1, 1, { carries: true, holds: true }), watcher(2, 2)])).toMatchObject({ since: 1 });
    expect(elect([watcher(1, 1, { carries: true }), watcher(2, 2)])).toMatchObject({ since: 2 });
  });
});
