import { describe, expect, it, vi } from "vitest";
import { ProgressWriter } from "../../src/service/progress-writer";

describe("progress that takes time to be written", () => {
  it("is written no faster than it can be, and only the newest", async () => {
    vi.useFakeTimers();
    const written: unknown[] = [];
    let finish = (): void => {};
    const writer = new ProgressWriter(({ progress }) => {
      written.push(progress);
      return new Promise<void>((resolve) => (finish = resolve));
    });
    for (let n = 1; n <= 100; n += 1) {
      writer.report({ progress: n });
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(written).toEqual([1]);
    finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(written).toEqual([1, 100]);
    const settled = vi.fn();
    void writer.settled().then(settled);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(settled).not.toHaveBeenCalled();
    finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).toHaveBeenCalled();
    vi.useRealTimers();
  });
});
