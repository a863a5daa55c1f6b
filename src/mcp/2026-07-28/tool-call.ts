import type { TaskSnapshot } from "../../service/task-store";
import type { JsonObject, JsonText } from "../../task/json";
import type { ClientFacts } from "../../task/task";
import type { RegisteredTool } from "../../tool/registry";
import { clientFacts, REVISION, type Call } from "./call";
import { toResult } from "./results";
import { sealRounds, type Asker, type Rounds } from "./rounds";
import type { CallToolParams } from "./schemas";
import { toInputRequests } from "./view";

/** How a call is carried out: as a task whose handle is the answer, as a task the call waits for, or in the request. */
export type Plan = "task" | "held" | "inline";

/** A call that may go ahead. */
export type ToolCall = {
  readonly call: Call;
  readonly params: CallToolParams;
  readonly arguments: JsonObject;
  readonly tool: RegisteredTool;
  readonly plan: Plan;
  readonly idempotencyKey: string | undefined;
  readonly rounds: Rounds;
};

export function startTask({ call, tool, arguments: args, plan, idempotencyKey }: ToolCall, prepared: unknown) {
  const client: ClientFacts = plan === "held" ? { ...clientFacts(call), bridged: true } : clientFacts(call);
  return call.deps.tasks.start({
    principal: call.principal,
    tool,
    arguments: args,
    prepared,
    client,
    origin: `mcp/${REVISION}`,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  });
}

/** The client calls again with the answers, and with what it must bring back to be understood (patterns MRTR). */
export async function inputRequired(
  call: Call,
  params: CallToolParams,
  asker: Asker,
  questions: TaskSnapshot["openQuestions"],
  kept: Partial<Rounds>,
): Promise<JsonText> {
  const requestState = await sealRounds(call, params, asker, kept);
  return toResult("input_required", { inputRequests: toInputRequests(questions), requestState });
}
