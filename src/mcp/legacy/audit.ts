import type { Call } from "./call";

/** One line for whoever looks after the server: who did what to which task (2025-11-25 tasks §Audit and Logging). */
export function audit({ deps, principal, revision }: Call, message: string, task: string): void {
  const caller = principal.kind === "identified" ? { issuer: principal.issuer, subject: principal.subject } : null;
  deps.log?.({ level: "info", message, task, caller, revision: revision.version });
}
