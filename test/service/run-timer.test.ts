import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RunTimer } from "../../src/service/run-timer";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it("gives each step its own time, and none of it to what lies between two", async () => {
  const over = vi.fn();
  const timer = new RunTimer(over, 10);
  for (let n = 0; n < 3; n += 1) {
    const step = timer.during(100, () => pause(90));
    await vi.advanceTimersByTimeAsync(90);
    await step;
    await vi.advanceTimersByTimeAsync(9);
  }
  expect(over).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalledOnce();
});

it("counts a step that is too long while another goes on beside it", async () => {
  const over = vi.fn();
  const timer = new RunTimer(over, 10);
  void timer.during(100, () => pause(200));
  await vi.advanceTimersByTimeAsync(60);
  void timer.during(100, () => pause(20));
  await vi.advanceTimersByTimeAsync(39);
  expect(over).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalledOnce();
});

it("says nothing any more once it was stopped, though a step may still go on", async () => {
  const over = vi.fn();
  const timer = new RunTimer(over, 10);
  void timer.during(100, () => pause(50));
  timer.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(over).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
