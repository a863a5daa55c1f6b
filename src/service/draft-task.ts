import type { RunsIn, TaskDraft } from "../task/task";
import type { RegisteredTool } from "../tool/registry";
import { jsonText } from "./ending";
import { ownerOf } from "./principal";
import type { StartRequest, TaskServiceParts } from "./task-service";
import { clampTtl } from "./ttl";

/** The task that a call asks for. Throws `too_large`. */
export function draftTask(
  request: StartRequest,
  { id, namespace }: Pick<TaskDraft, "id" | "namespace">,
  { limits, clock }: Pick<TaskServiceParts, "limits" | "clock">,
): TaskDraft {
  const { tool } = request.tool;
  const wanted = request.ttlMs !== undefined ? request.ttlMs : tool.ttlMs !== undefined ? tool.ttlMs : limits.ttlMs;
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
    contextId: request.contextId ?? null,
    extras: null,
    createdAt: clock(),
    ttlMs: clampTtl(wanted, limits),
    pollIntervalMs: tool.pollIntervalMs ?? limits.pollIntervalMs,
  };
}

function runsIn({ tool, outputSchema }: RegisteredTool): RunsIn {
  if (tool.queue === undefined) return { in: tool.runs ?? "object" };
  const output = outputSchema === undefined ? null : JSON.stringify(outputSchema);
  return { in: "queue", queue: tool.queue, maxAttempts: tool.maxAttempts ?? null, output };
}
