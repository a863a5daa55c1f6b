import type { Message, SendMessageRequest } from "@a2a-js/sdk";
import { holdTask } from "../service/bridge";
import { callInline } from "../service/call-inline";
import { checkedKey } from "../service/idempotency-key";
import { identityOf } from "../service/principal";
import type { TaskSnapshot } from "../service/task-store";
import { TaskError } from "../task/errors";
import type { JsonObject } from "../task/json";
import type { ClientFacts } from "../task/task";
import { missingCapabilities } from "../tool/asks";
import type { RegisteredTool } from "../tool/registry";
import type { A2aDeps, Caller } from "./deps";
import { A2aError } from "./errors";
import { asksRequests } from "./extensions";
import { followUp } from "./follow-up";
import { storedMessage } from "./messages";
import { missingArguments } from "./missing-arguments";
import { newTarget } from "./push-configs";
import { askedOf, type Asked } from "./skills";
import { toReply } from "./view";

/**
 * What a message came to: the id of a task, new or gone on with; or at once a message, from a tool that makes no tasks.
 * Durable when it resolves (A2A 1.0 §3.1.1).
 */
export async function send(deps: A2aDeps, caller: Caller, request: SendMessageRequest): Promise<Message | string> {
  // There is one: it was read.
  const message = request.message as Message;
  const { contextId, taskId } = message;
  const config = request.configuration?.taskPushNotificationConfig;
  const target = config && newTarget(deps, caller, config);
  if (taskId !== "") {
    await followUp(deps, caller, message, target);
    return taskId;
  }
  const asked = await askedOf(deps, message, request.metadata);
  const { tool } = asked.tool;
  if (tool.task === "forbidden" && !tool.prepare && !tool.asks?.length) return reply(deps, caller, asked, contextId);
  const { task } = await deps.tasks.start({
    ...startOf(deps, caller, asked),
    extras: storedMessage(message),
    ...(contextId && { contextId }),
    ...(target && { push: [{ ...target, cursor: 0, failures: 0, retryAt: null, dead: [] }] }),
    ...keyOf(caller),
  });
  return task.id;
}

/** The task when it rests, or after so many ms at most. Rejects with the signal's reason when the client leaves. */
export async function waitFor(
  { tasks, config }: A2aDeps,
  { principal, signal, onWait }: Caller,
  id: string,
): Promise<TaskSnapshot> {
  onWait?.();
  return holdTask(tasks, principal, id, { waitMs: config.a2a.blockMs, signal });
}

function startOf({ config, clock }: A2aDeps, caller: Caller, { tool, arguments: args, exact }: Asked) {
  const client = clientFacts(caller);
  refuseUnaskable(tool, client);
  const start = { principal: caller.principal, tool, arguments: args, client, origin: caller.wire, unprepared: true };
  const checked = tool.parseArguments(args);
  if (checked.ok) return start;
  // Data is the work of a program, which can mend it; whoever speaks is asked.
  const missing = exact ? null : missingArguments(tool, args, clock() + config.limits.questionTtlMs);
  if (missing) return { ...start, missing };
  throw new TaskError("invalid", checked.message);
}

/** Refused before anything starts: this client could not answer what the tool asks. */
function refuseUnaskable({ tool }: RegisteredTool, { capabilities }: ClientFacts): void {
  const missing = missingCapabilities(tool.asks ?? [], capabilities);
  if (missing === null) return;
  const message = `The skill "${tool.name}" may ask for ${Object.keys(missing).join(", ")}: a client that can answer names the extension for input requests in A2A-Extensions.`;
  throw new TaskError("capability_missing", message, { requiredCapabilities: missing });
}

/** Any client of A2A can answer in words or data; what else it is asked it must know of. */
function clientFacts({ principal, wire, headers }: Caller): ClientFacts {
  const capabilities: JsonObject = { elicitation: { form: {}, url: {} } };
  return {
    revision: wire,
    capabilities: asksRequests(headers) ? { ...capabilities, sampling: {}, roots: {} } : capabilities,
    principal: identityOf(principal),
  };
}

/** Nobody but who is known can come back for what an earlier call made. */
function keyOf({ headers, principal }: Caller): { readonly idempotencyKey?: string } {
  const key = checkedKey(headers.get("idempotency-key")?.trim());
  return key === undefined || principal.kind === "anonymous" ? {} : { idempotencyKey: key };
}

async function reply(deps: A2aDeps, caller: Caller, asked: Asked, contextId: string): Promise<Message> {
  const checked = asked.tool.parseArguments(asked.arguments);
  if (!checked.ok) throw new TaskError("invalid", checked.message);
  const { name } = asked.tool.tool;
  caller.onWait?.();
  const { signal } = caller;
  const outcome = await callInline({ ...asked, client: clientFacts(caller), answers: {}, signal, deps });
  if (outcome.kind === "result") return toReply(outcome.result, contextId || crypto.randomUUID());
  if (outcome.kind === "error") throw new A2aError("unsupported", outcome.error.message);
  throw new A2aError("unsupported", `The skill "${name}" asks something, which it may do only as a task.`);
}
