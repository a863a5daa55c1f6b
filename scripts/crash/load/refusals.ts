import type { Journal } from "../journal.ts";
import type { Answered, Message } from "../wire.ts";
import { outcomeIn } from "./errands.ts";

const BUSY = 503;
const LIMIT_REACHED = 42900;

/** What the server says in place of what was asked of it: hardly any of it may be. */
export function refusal(journal: Journal, what: string, { status, text }: Answered): void {
  // A2A has the errors of a request on 200.
  if (status === BUSY || text.includes('"reason":"OVERLOADED"')) return journal.count("refused as busy");
  journal.found("a fit answer", `${what} was answered ${status}: ${text.slice(0, 300)}`);
}

/** As many of the owner's tasks live as may. */
export const isAtCap = ({ message }: Answered): boolean => message?.error?.code === LIMIT_REACHED;

/** Somebody else cancelled what a call was held for. */
export const isCancelledCall = (message: Message): boolean => outcomeIn(message)?.report === "The call was cancelled.";
