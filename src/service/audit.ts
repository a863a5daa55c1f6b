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

const lines = new WeakSet<Error>();

/** Marks an error that has its line: the doors further out must not write another. */
export function markAudited(error: Error): void {
  lines.add(error);
}

export const wasAudited = (error: unknown): boolean => error instanceof Error && lines.has(error);

export type Audit = (line: AuditLine) => void;

/** What every line about a task says. */
export const factsOf = ({ id, tool, owner, client }: Pick<Task, "id" | "tool" | "owner" | "client">) => ({
  principal: owner,
  task: id,
  tool,
  ...(client.traceparent === undefined ? {} : { traceparent: client.traceparent }),
});
