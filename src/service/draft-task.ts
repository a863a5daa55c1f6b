import type { AskedQuestion } from "../task/questions";
import type { RunsIn, TaskDraft } from "../task/task";
import type { RegisteredTool } from "../tool/registry";
import { jsonText } from "./ending";
import type { Limits } from "./limits";
import { ownerOf } from "./principal";
import type { StartRequest, TaskServiceParts } from "./task-requests";
import { clampTtl, longestWait, raisedTtl } from "./ttl";

/** The task that a call asks for. Throws `too_large`. */
export function draftTask(
  request: StartRequest,
  { id, namespace }: Pick<TaskDraft, "id" | "namespace">,
  { limits, clock }: Pick<TaskServiceParts, "limits" | "clock">,
): TaskDraft {
  const { tool } = request.tool;
  const wanted = request.ttlMs !== undefined ? request.ttlMs : tool.ttlMs !== undefined ? tool.ttlMs : limits.ttlMs;
  const lifetime = { createdAt: clock(), ttlMs: clampTtl(wanted, limits) };
  const args = jsonText(request.arguments, limits.resultLimitBytes, "The arguments");
  return {
    id,
    namespace,
    owner: ownerOf(request.principal),
    origin: request.origin,
    tool: tool.name,
    toolVersion: tool.version ?? null,
    runs: runsIn(request.tool),
    arguments: args,
    prepared:
      request.prepared === undefined
        ? null
        : // Both travel to the object in one message.
          jsonText(request.prepared, limits.resultLimitBytes - args.length, "What prepare returned"),
    client: request.client,
    // Every task can be read over A2A, where each has a context.
    contextId: request.contextId ?? crypto.randomUUID(),
    extras: request.extras ?? null,
    ...lifetime,
    pollIntervalMs: tool.pollIntervalMs ?? limits.pollIntervalMs,
    ...(request.unprepared && tool.prepare ? { unprepared: true } : {}),
    ...(request.missing ? waitingFor(request.missing, lifetime, limits) : {}),
    ...(request.push ? { push: request.push } : {}),
  };
}

/** A question waits as long as it may, and its task as long as that. */
function waitingFor(
  missing: AskedQuestion,
  lifetime: Pick<TaskDraft, "createdAt" | "ttlMs">,
  limits: Limits,
): Pick<TaskDraft, "missing" | "ttlMs"> {
  const { createdAt } = lifetime;
  const deadline = Math.min(missing.deadline, createdAt + longestWait(lifetime, limits, createdAt));
  return { missing: { ...missing, deadline }, ttlMs: raisedTtl(lifetime, limits, deadline, "question") };
}

function runsIn({ tool, outputSchema }: RegisteredTool): RunsIn {
  if (tool.queue === undefined) return { in: tool.runs ?? "object" };
  const output = outputSchema === undefined ? null : JSON.stringify(outputSchema);
  return { in: "queue", queue: tool.queue, maxAttempts: tool.maxAttempts ?? null, output };
}
