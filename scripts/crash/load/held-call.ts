// A call of MCP 2026-07-28 whose client has no tasks: it is held open, and made again with the answers.
import type { Errand } from "../../../test/fixtures/tools/crash.ts";
import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { OwnerName, Server } from "../server.ts";
import type { Answered, Fields, Message } from "../wire.ts";
import { anyAnswer, outcomeIn, reportIn } from "./errands.ts";
import { MODERN, requestModern } from "./modern-client.ts";
import { isAtCap, isCancelledCall, refusal } from "./refusals.ts";

export const HANDLE = "dev.holdfast/task";

type Given = { readonly key: string; readonly answer: string; acknowledged: boolean };

/** Goes on until the call has a result, or a task that others can look after. False where there is no room for one. */
export async function holdCall(
  server: Server,
  owner: OwnerName,
  errand: Errand,
  random: Random,
  journal: Journal,
): Promise<boolean> {
  const call = { key: `key-of-${errand.note}`, capabilities: random.chance(0.5) ? { elicitation: {} } : {} };
  const given: Given[] = [];
  let round: Fields = {};
  for (;;) {
    const params = { name: "errand", arguments: errand, ...round };
    const reply = await requestModern(server, owner, "tools/call", params, call);
    if (reply.kind === "lost") {
      journal.count("calls lost");
      continue;
    }
    if (isAtCap(reply)) return false;
    for (const answer of given) answer.acknowledged = true;
    const { result } = reply.message ?? {};
    if (result?.["resultType"] !== "input_required") {
      ended(owner, errand, reply, given, journal);
      return true;
    }
    const keys = Object.keys(result["inputRequests"] as Fields);
    const inputResponses = Object.fromEntries(keys.map((key) => [key, anyAnswer(random)]));
    for (const key of keys) given.push({ key, answer: JSON.stringify(inputResponses[key]), acknowledged: false });
    round = { inputResponses, requestState: result["requestState"] };
  }
}

function ended(owner: OwnerName, { note }: Errand, reply: Answered, given: readonly Given[], journal: Journal): void {
  const message = reply.message ?? {};
  const id = heldTask(message);
  if (id === null) return isCancelledCall(message) ? undefined : refusal(journal, `The held call of ${note}`, reply);
  journal.acknowledged(id, { door: `${MODERN}, held`, owner, note });
  for (const { key, answer, acknowledged } of given) {
    journal.answering(id, key, answer);
    if (acknowledged) journal.answered(id, key);
  }
  const outcome = outcomeIn(message);
  if (!outcome || !reportIn(outcome.report)) return;
  journal.saw(id, { view: `a held call of ${MODERN}`, text: reply.text, status: "settled", sent: -Infinity, outcome });
}

/** The task behind a held call: its handle tells, or what came of the errand. */
export function heldTask(message: Message): string | null {
  const handle = (message.result?.["_meta"] as Fields | undefined)?.[HANDLE] as { readonly taskId: string } | undefined;
  return handle?.taskId ?? reportIn(outcomeIn(message)?.report ?? null)?.id ?? null;
}
