import { expect, it } from "vitest";
import { eventFor } from "../../src/service/command-event";
import type { Command } from "../../src/service/task-store";
import { createTask, transition } from "../../src/task/transition";
import { limits } from "../support/memory";
import { draft } from "../support/task";

const requestedSchema = { type: "object", properties: { v: { type: "string" } }, required: ["v"] };
const request = { method: "elicitation/create", params: { mode: "form", message: "v?", requestedSchema } } as const;
const questions = ["k", "l"].map((authorKey) => ({ authorKey, occurrence: 1, request, deadline: 9_000 }));
const running = transition(createTask(draft()).task, { type: "started", at: 1_100 }).task;
const task = transition(running, { type: "asked", at: 1_200, questions, sleeps: [], ttlMs: null }).task;
const eventOf = (command: Command) => eventFor(task, command, limits, 2_000);
const said = { id: "m", digest: "d", message: '"Hello."' };

it("takes a cancel for one, and leaves time to read that", () => {
  expect(eventOf({ kind: "cancel" })).toEqual({ type: "cancelled", at: 2_000, minTtlMs: limits.minTtlMs });
});

it("sorts answers, and says with which message they came, and when", () => {
  const good = '{"action":"accept","content":{"v":"yes"}}';
  const answers = { k: good, l: '{"action":"accept","content":{}}', nobody: good };
  expect(eventOf({ kind: "answer", answers, turn: said })).toEqual({
    type: "answered",
    at: 2_000,
    answers: { k: good },
    refused: { l: expect.stringContaining("v") },
    turn: { ...said, at: 2_000 },
  });
  expect(eventOf({ kind: "answer", answers })).not.toHaveProperty("turn");
});

it("takes what answers nothing as said", () => {
  expect(eventOf({ kind: "say", turn: said, statusMessage: "Say v." })).toEqual({
    type: "said",
    at: 2_000,
    turn: { ...said, at: 2_000 },
    statusMessage: "Say v.",
  });
});

it("notes who is to be told, and who is not any more", () => {
  const target = { id: "p", url: "https://a.example/", token: null, authentication: null, wire: "a2a/1.0" };
  expect(eventOf({ kind: "push", target })).toEqual({ type: "push_set", at: 2_000, target });
  expect(eventOf({ kind: "unpush", id: "p" })).toEqual({ type: "push_removed", at: 2_000, id: "p" });
});
