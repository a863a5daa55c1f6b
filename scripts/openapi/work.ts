import {
  answer,
  body,
  list,
  object,
  orNull,
  parameter,
  refusals,
  schema,
  security,
  text,
  whole,
  WITH_BODY,
  type Examples,
  type Part,
} from "./parts.ts";
import { LEASE, LEASE_MS } from "./schemas-of-work.ts";

const TASK_ID = "iMPJ3tXK5kGqgK0G2F6bU7nWcYl1xRr8o0kq1v3sT9E";
const A_LEASE = "0e7c51f4-5ad4-4e2b-9d3a-6c1b2f8e7a90";
const NOW = 1_796_083_200_000;
const WORKERS = security("worker", "admin");

const HELD = { taskId: TASK_ID, lease: A_LEASE, leaseUntil: NOW + 60_000, answers: {}, openQuestions: [] };
const FORM = {
  method: "elicitation/create",
  params: { mode: "form", message: "Which size?", requestedSchema: { type: "object", properties: {} } },
};
const state = (phase: string, outcome: string | null, statusMessage: string | null = null): Part => ({
  phase,
  outcome,
  isError: false,
  statusMessage,
});
const NO_CAMERA = "The scene has no camera.";
const LOST = {
  error: { code: "lease_lost", message: "This lease is not in force; nothing was changed." },
  kind: "lost",
  state: state("working", null),
};

type Act = {
  readonly summary: string;
  readonly members?: Part;
  /** Beside the lease. */
  readonly request: Part;
  readonly answers: Part;
  readonly examples: Examples;
  /** Shows what a worker is told that comes too late. */
  readonly lost?: true;
};

const act = (name: string, { summary, members = {}, request, answers, examples, lost }: Act): Part => ({
  [`/work/{task}/${name}`]: {
    parameters: [parameter("Task")],
    post: {
      operationId: `${name}Work`,
      summary,
      tags: ["work"],
      ...WORKERS,
      requestBody: body(
        { lease: LEASE, ...members },
        { told: { lease: A_LEASE, ...request }, ...(lost ? { lost: { lease: "an-older-lease", ...request } } : {}) },
      ),
      responses: {
        200: answer("Told.", answers, examples),
        ...refusals(...WITH_BODY),
        409: answer(
          "`lease_lost`: the lease is not in force. `cancelled`: stop. Nothing was changed; `state` is how the task stands. " +
            "`capability_missing` and `conflict`: the lease is in force, and this cannot be asked now.",
          schema("WorkRefused"),
          lost ? { lost: LOST } : {},
        ),
      },
    },
  },
});

export const workPaths: Part = {
  "/queues/{queue}/claims": {
    parameters: [parameter("Queue")],
    post: {
      operationId: "claimWork",
      summary: "Claim tasks that wait in a queue",
      description:
        "Waits for the first one, and takes what is there then; it may begin with space while it waits. Whose answer was " +
        "lost claims again with the same `claimId`, and is given the same tasks.",
      tags: ["work"],
      ...WORKERS,
      requestBody: body(
        {
          claimId: text("1 to 200 characters of the worker's own."),
          "worker?": text("As it calls itself, for people: 1 to 200 characters.", { default: "worker" }),
          "max?": whole("The most tasks.", { minimum: 1, maximum: 100, default: 1 }),
          "waitMs?": whole("How long to wait, ms.", { minimum: 0, maximum: 30_000, default: 0 }),
          "leaseMs?": { ...LEASE_MS, default: 30_000 },
          "tools?": orNull(list({ type: "string" }, { maxItems: 100, description: "Only tasks of these tools." })),
        },
        { claimed: { claimId: "c-1", worker: "gpu-3", waitMs: 25_000, leaseMs: 60_000 } },
      ),
      responses: {
        200: answer("The tasks; none when nothing came in time.", object({ claims: list(schema("Work")) }), {
          claimed: {
            claims: [
              {
                ...HELD,
                tool: "render",
                owner: '["holdfast:token","ann"]',
                arguments: { scene: "s" },
                attempt: 1,
                createdAt: NOW,
                ttlMs: 86_400_000,
                expiresAt: NOW + 86_400_000,
                contextId: "b7904311-28a1-4f59-9206-a27696269b81",
                client: {
                  revision: "2026-07-28",
                  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
                },
              },
            ],
          },
        }),
        ...refusals(...WITH_BODY),
      },
    },
  },
  ...act("heartbeat", {
    summary: "Keep the lease; hear of a cancel, of questions and answers",
    members: { "leaseMs?": LEASE_MS },
    request: { leaseMs: 60_000 },
    answers: { oneOf: [schema("Held"), schema("Told")] },
    examples: { told: { kind: "held", ...HELD } },
  }),
  ...act("progress", {
    summary: "Say how far it is; with `leaseMs` a heartbeat too",
    members: {
      progress: object(
        { "message?": text("For people."), "progress?": { type: "number" }, "total?": { type: "number" } },
        { additionalProperties: false },
      ),
      "leaseMs?": LEASE_MS,
    },
    request: { progress: { message: "Half.", progress: 1, total: 2 } },
    answers: schema("Held"),
    examples: { told: { kind: "held", ...HELD } },
  }),
  ...act("ask", {
    summary: "Ask the client that made the task; the answers come with heartbeats",
    members: {
      questions: { type: "object", additionalProperties: schema("InputRequest"), description: "By key: 1 to 100." },
      "timeoutMs?": whole("How long they wait, ms; then the answer is `cancel`.", { minimum: 1 }),
    },
    request: { questions: { size: FORM } },
    answers: schema("Held"),
    examples: { told: { kind: "held", ...HELD, openQuestions: [{ key: "size", request: FORM }] } },
  }),
  ...act("complete", {
    summary: "Finish with a result; the same again is no fault",
    members: { result: { description: "A `CallToolResult`, or what fits the tool's output schema." } },
    request: { result: { content: [{ type: "text", text: "Done." }] } },
    answers: schema("Told"),
    examples: { told: { kind: "settled", state: state("settled", "result") } },
    lost: true,
  }),
  ...act("fail", {
    summary: "Finish with an error, or ask for another attempt",
    members: {
      error: object(
        {
          "code?": whole("A JSON-RPC code.", { default: -32_603 }),
          message: text("The client sees it."),
          "data?": { description: "Any JSON, verbatim." },
        },
        { additionalProperties: false },
      ),
      "retry?": { type: "boolean", default: false, description: "Whether another attempt may help." },
    },
    request: { error: { message: NO_CAMERA } },
    answers: schema("Told"),
    examples: { told: { kind: "settled", state: state("settled", "error", NO_CAMERA) } },
  }),
  ...act("release", {
    summary: "Give the task back; no attempt is lost",
    request: {},
    answers: schema("Told"),
    examples: { told: { kind: "returned", state: state("working", null) } },
  }),
};
