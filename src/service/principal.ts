import type { ClientFacts, Owner } from "../task/task";

export type Scope = "client" | "worker" | "admin";

/** Who is calling. Every way to authenticate ends in one of these; nothing downstream knows which way it was. */
export type Principal =
  /**
   * `address` is where the request came from, for counting; it is stored nowhere. `local`: on this machine, where nobody
   * is asked who they are.
   */
  | { readonly kind: "anonymous"; readonly address?: string; readonly local?: true }
  | {
      readonly kind: "identified";
      readonly issuer: string;
      readonly subject: string;
      readonly scopes: readonly Scope[];
      /** Unix ms after which streams opened with the credential end; null for one that does not expire. */
      readonly expiresAt: number | null;
    };

/** What the caller may do. `admin` includes the others. On one's own machine one may also be a worker. */
export function scopesOf(principal: Principal): readonly Scope[] {
  if (principal.kind === "anonymous") return principal.local ? ["client", "worker"] : ["client"];
  return principal.scopes.includes("admin") ? ["client", "worker", "admin"] : principal.scopes;
}

/** Issuer and subject, never the token (it rotates): the key under which tasks are owned. */
export const ownerOf = (principal: Principal): Owner =>
  principal.kind === "anonymous" ? null : JSON.stringify([principal.issuer, principal.subject]);

/** Whom tokens that a client brings back are bound to. */
export const holderOf = (principal: Principal): string => ownerOf(principal) ?? "anonymous";

/** Who calls, as tools are told. */
export const identityOf = (principal: Principal): ClientFacts["principal"] =>
  principal.kind === "identified" ? { issuer: principal.issuer, subject: principal.subject } : null;
