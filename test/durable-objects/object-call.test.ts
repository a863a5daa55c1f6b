import { describe, expect, it, vi } from "vitest";
import { calling, callingOnce } from "../../durable-objects/object-call";
import { TaskError } from "../../src/task/errors";

const fault = (facts: object) => Object.assign(new Error("Network connection lost."), facts);
const failing = (times: number, error: unknown) => {
  let left = times;
  return vi.fn(async () => {
    if (left-- > 0) throw error;
    return "answer";
  });
};

describe("calling", () => {
  it.each([{ retryable: true }, { durableObjectReset: true }])(
    "tries again after a fault of the platform: %j",
    async (facts) => {
      const call = failing(2, fault(facts));
      expect(await calling(call)).toBe("answer");
      expect(call).toHaveBeenCalledTimes(3);
    },
  );

  it("gives up after a few times, as overloaded", async () => {
    const call = failing(Infinity, fault({ retryable: true }));
    await expect(calling(call)).rejects.toMatchObject({
      name: "TaskError",
      code: "overloaded",
      data: { retryAfterMs: 1_000 },
    });
    expect(call).toHaveBeenCalledTimes(4);
  });

  it("does not press an overloaded object", async () => {
    const call = failing(1, fault({ retryable: true, overloaded: true }));
    await expect(calling(call)).rejects.toMatchObject({ code: "overloaded" });
    expect(call).toHaveBeenCalledTimes(1);
  });

  it.each([new TypeError("a bug"), new TaskError("internal", "ours"), "a string", null])(
    "lets anything else pass: %s",
    async (error) => {
      const call = failing(1, error);
      await expect(calling(call)).rejects.toBe(error);
      expect(call).toHaveBeenCalledTimes(1);
    },
  );
});

describe("callingOnce", () => {
  it("never calls twice", async () => {
    const call = failing(1, fault({ retryable: true }));
    await expect(callingOnce(call)).rejects.toMatchObject({ code: "overloaded" });
    expect(call).toHaveBeenCalledTimes(1);
  });
});
