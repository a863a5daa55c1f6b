import type { Owner, Task } from "../task/task";

/** What an operator can find in the log of who did what. Never content, never a credential. */
export type AuditLine = {
  readonly audit: "create" | "answer" | "cancel" | "read_result" | "settle" | "expire" | "refuse";
  /** Issuer and subject; null for an anonymous caller. */
  readonly principal: Owner;
  readonly task?: string;
  readonly tool?: string;
  /** How it settled. */
  readonly outcome?: string;
  /** Why it was refused. */
  readonly code?: string;
  /** W3C Trace Context, as the caller sent it. */
  readonly traceparent?: string;
};

export type Audit = (line: AuditLine) => void;

/** What every line about a task says. */
export const factsOf = ({ id, tool, owner, client }: Pick<Task, "id" | "tool" | "owner" | "client">) => ({
  principal: owner,
  task: id,
  tool,
  ...(client.traceparent === undefined ? {} : { traceparent: client.traceparent }),
});
