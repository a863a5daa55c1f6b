import { describe, expect, it } from "vitest";
import { draftTask } from "../../src/service/draft-task";
import type { Limits } from "../../src/service/limits";
import type { StartRequest } from "../../src/service/task-requests";
import { ARGUMENTS_KEY } from "../../src/task/task";
import { defineTool, type AnyTool } from "../../src/tool/define-tool";
import { registerTool } from "../../src/tool/registry";
import { everything, limits, someone } from "../support/memory";

const DAY_MS = 86_400_000;
const NOW = 1_000;
const plain = defineTool({
  name: "tool",
  description: "tool",
  input: { type: "object" },
  task: "optional",
  run: () => "done",
});
const prepares = defineTool({ ...plain, input: { type: "object" }, prepare: () => 1 });

const drafted = (more: Partial<StartRequest> = {}, over: Partial<Limits> = {}, tool: AnyTool = plain) =>
  draftTask(
    { principal: someone("a"), tool: registerTool(tool), arguments: {}, client: everything, origin: "test", ...more },
    { id: "t", namespace: "n" },
    { limits: { ...limits, ...over }, clock: () => NOW },
  );

const request = { method: "elicitation/create", params: { mode: "form", message: "b?" } } as const;
const missing = (waitMs: number) => ({ authorKey: ARGUMENTS_KEY, occurrence: 1, request, deadline: NOW + waitMs });

describe("the task that a call asks for", () => {
  it("has a context of its own unless it is called in one", () => {
    expect(drafted({ contextId: "c" }).contextId).toBe("c");
    const [one, other] = [drafted().contextId, drafted().contextId];
    expect(one).toMatch(/^[0-9a-f-]{36}$/);
    expect(one).not.toBe(other);
  });

  it("keeps what was sent, and who is to hear of it, as it came", () => {
    const target = { id: "p", url: "https://a.example/", token: null, authentication: null, wire: "a2a/1.0" };
    const push = [{ ...target, cursor: 0, failures: 0, retryAt: null, dead: [] }];
    expect(drafted({ extras: '{ "m": 1 }', push })).toMatchObject({ extras: '{ "m": 1 }', push });
    expect(drafted().extras).toBeNull();
    expect(drafted()).not.toHaveProperty("push");
  });

  it("is left unprepared only where there is something to prepare", () => {
    expect(drafted({ unprepared: true }, {}, prepares).unprepared).toBe(true);
    expect(drafted({ unprepared: true })).not.toHaveProperty("unprepared");
    expect(drafted({ unprepared: false }, {}, prepares)).not.toHaveProperty("unprepared");
    expect(drafted({ prepared: 1 }, {}, prepares)).not.toHaveProperty("unprepared");
  });
});

describe("a task whose arguments are asked for", () => {
  it("lives longer than the question waits, with time to run and to fetch what that came to", () => {
    const draft = drafted({ missing: missing(7 * DAY_MS), ttlMs: DAY_MS });
    expect(draft.missing?.deadline).toBe(NOW + 7 * DAY_MS);
    expect(draft.ttlMs).toBe(7 * DAY_MS + limits.minTtlMs + limits.timeoutMs);
  });

  it("keeps a ttl that is long enough as it is", () => {
    expect(drafted({ missing: missing(60_000), ttlMs: DAY_MS }).ttlMs).toBe(DAY_MS);
    expect(drafted({ missing: missing(DAY_MS), ttlMs: null }, { maxTtlMs: null }).ttlMs).toBeNull();
  });

  it("has its question wait no longer than the longest ttl lets it", () => {
    const draft = drafted({ missing: missing(7 * DAY_MS) }, { ttlMs: 3_600_000, maxTtlMs: DAY_MS });
    expect(draft.missing?.deadline).toBe(NOW + DAY_MS - limits.minTtlMs);
    expect(draft.ttlMs).toBe(DAY_MS);
  });
});
