import { flag, list, object, orNull, schema, text, whole, type Part } from "./parts.ts";

const at = (description: string): Part => whole(`${description} Unix ms.`);

export const LEASE = text("From the claim: the right to report on the task.");
export const LEASE_MS = whole("How long the lease lasts from now without a heartbeat, ms.", {
  minimum: 1_000,
  maximum: 3_600_000,
});

const HELD = {
  taskId: text("The task."),
  lease: LEASE,
  leaseUntil: at("When the lease ends without a heartbeat."),
  answers: { type: "object", description: "By the key it was asked under: the newest answer, verbatim." },
  openQuestions: list(object({ key: text("The key."), request: schema("InputRequest") }), {
    description: "Asked, and not answered yet.",
  }),
};

export const workSchemas: Part = {
  InputRequest: object({
    method: { enum: ["elicitation/create", "sampling/createMessage", "roots/list"] },
    params: { type: "object", description: "As MCP 2026-07-28 has it." },
  }),
  Work: object({
    ...HELD,
    tool: text("The tool's name."),
    owner: orNull(text("Who asked for it, or null. Never a credential.")),
    arguments: { type: "object", description: "As the client sent them." },
    attempt: whole("From 1: this one included."),
    createdAt: at("When the task was made."),
    ttlMs: orNull(whole("From creation, ms; null for unlimited.")),
    expiresAt: orNull(at("When the task ends whatever its worker does; null for never.")),
    contextId: orNull(text("What groups tasks, if anything does.")),
    client: object({
      revision: text("The protocol revision of the client that made the task."),
      capabilities: { type: "object", description: "What that client can be asked." },
    }),
  }),
  Held: object({ kind: { const: "held" }, ...HELD }),
  Told: object({
    kind: { enum: ["settled", "returned", "cancelled", "lost"] },
    state: schema("WorkState"),
  }),
  WorkRefused: object({
    error: schema("Problem"),
    "kind?": { enum: ["cancelled", "lost"] },
    "state?": schema("WorkState"),
  }),
  WorkState: object(
    {
      phase: { enum: ["submitted", "working", "input_required", "settled"] },
      outcome: { enum: ["result", "error", "cancelled", "rejected", "expired", null] },
      isError: flag("Whether the result is one of a tool that failed."),
      statusMessage: orNull(text("For people.")),
    },
    { description: "Where the task stands." },
  ),
  RemoteTool: object({
    "name?": text("1 to 128 of A-Z, a-z, 0-9, `_`, `.` and `-`; a declaration may leave it to the path."),
    "title?": text("For people."),
    description: text("For models."),
    inputSchema: { type: "object", description: 'JSON Schema 2020-12 whose root has `type: "object"`.' },
    "outputSchema?": { type: "object", description: "JSON Schema of the structured result." },
    queue: text("Where its tasks wait: 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`."),
    "task?": { enum: ["required", "optional"], default: "optional" },
    "asks?": list({ enum: ["form", "url", "sampling", "roots"] }),
    "ttlMs?": orNull(whole("Of its tasks, ms; null for unlimited.", { minimum: 1 })),
    "pollIntervalMs?": whole("Suggested to whoever polls, ms.", { minimum: 1 }),
    "maxAttempts?": whole("Failed attempts before a task fails.", { minimum: 1 }),
    "annotations?": { type: "object", description: "As MCP has them." },
  }),
};
