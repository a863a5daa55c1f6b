import { expect, it } from "vitest";
import { STANDINGS, standingOf, standingOfTask } from "../../src/task/standing";
import type { InputRequest, Outcome, Stage } from "../../src/task/task";
import { createTask, transition } from "../../src/task/transition";
import { draft } from "../support/task";

const form: InputRequest = { method: "elicitation/create", params: { mode: "form", message: "Sure?" } };
const url: InputRequest = {
  method: "elicitation/create",
  params: { mode: "url", message: "Go.", url: "https://a.example" },
};
const roots: InputRequest = { method: "roots/list", params: {} };
const stands = (stage: Stage, ...requests: readonly InputRequest[]) =>
  standingOf({ stage, open: requests.map((request) => ({ request })) });
const ended = (outcome: Outcome) => stands({ phase: "settled", outcome, settledAt: 1 });

it("stands where its phase and its outcome say", () => {
  const all = [
    stands({ phase: "submitted" }),
    stands({ phase: "working", activity: { kind: "sleeping", until: 1 } }),
    stands({ phase: "input_required" }, form),
    stands({ phase: "input_required" }, url),
    ended({ kind: "result", result: "{}", isError: false }),
    ended({ kind: "result", result: "{}", isError: true }),
    ended({ kind: "cancelled" }),
    ended({ kind: "rejected", reason: "No." }),
  ];
  expect(all).toEqual([...STANDINGS]);
  expect(ended({ kind: "error", error: { code: 1, message: "It failed." } })).toBe("failed");
  expect(ended({ kind: "expired" })).toBe("failed");
});

it("waits for authorisation only where nothing but URLs is asked", () => {
  const stage = { phase: "input_required" } as const;
  expect(stands(stage, url, url)).toBe("auth_required");
  expect(stands(stage, url, form)).toBe("input_required");
  expect(stands(stage, roots)).toBe("input_required");
  expect(stands(stage)).toBe("input_required");
});

it("stands by the questions that are open still", () => {
  const asked = [
    { authorKey: "form", occurrence: 1, request: form, deadline: 9_000 },
    { authorKey: "url", occurrence: 1, request: url, deadline: 9_000 },
  ];
  const running = transition(createTask(draft()).task, { type: "started", at: 1_100 }).task;
  const waiting = transition(running, { type: "asked", at: 1_200, questions: asked, sleeps: [], ttlMs: null }).task;
  expect(standingOfTask(waiting)).toBe("input_required");
  const answers = { form: '{"action":"decline"}' };
  expect(standingOfTask(transition(waiting, { type: "answered", at: 1_300, answers, refused: {} }).task)).toBe(
    "auth_required",
  );
});
