import { defineTool, ToolError } from "../tool/define-tool";

const LONGEST_SECONDS = 30 * 86_400;

const input = {
  type: "object",
  properties: {
    time: {
      type: "string",
      format: "date-time",
      description: "When to wake: ISO 8601 with `Z` or an offset. A time that has passed returns at once.",
    },
    seconds: { type: "number", minimum: 0, description: "How long to wait, in seconds." },
  },
} as const;

const output = {
  type: "object",
  properties: {
    until: { type: "string", description: "The time that was waited for, ISO 8601." },
    wokeAt: { type: "string", description: "When the wait was over, ISO 8601." },
  },
  required: ["until", "wokeAt"],
  additionalProperties: false,
} as const;

export const waitUntil = defineTool({
  name: "wait_until",
  title: "Wait until a time",
  description:
    "Waits until a given time, or for a number of seconds, and then returns: at most 30 days. Give exactly one of " +
    "`time` and `seconds`.",
  input,
  output,
  task: "optional",
  annotations: { readOnlyHint: true, openWorldHint: false },

  check: ({ time, seconds }) =>
    (time === undefined) === (seconds === undefined) ? "Give exactly one of `time` and `seconds`." : undefined,

  async run({ time, seconds = 0 }, task) {
    // A step, so that a run repeated after the wait neither counts the seconds anew nor finds fault with the time.
    const until = await task.step("until", () => {
      const now = Date.now();
      const wake = time === undefined ? now + seconds * 1000 : Date.parse(time);
      if (wake - now > LONGEST_SECONDS * 1000) throw new ToolError("The wait must not be longer than 30 days.");
      return new Date(wake).toISOString();
    });
    await task.sleep(new Date(until));
    return { until, wokeAt: await task.step("woke-at", () => new Date().toISOString()) };
  },
});
