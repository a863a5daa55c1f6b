import type { Principal, Scope } from "../service/principal";
import { FAULT, logThrown } from "../service/thrown";
import { TaskError, type TaskErrorCode, type TaskErrorData } from "../task/errors";
import type { StoreApi } from "./api";

/** What a call over a service binding came to. An error thrown there would arrive without its code. */
export type RpcOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly code: TaskErrorCode; readonly message: string; readonly data: TaskErrorData };

/** The store API as a service binding has it. */
export type StoreRpc = {
  readonly [K in keyof StoreApi]: (
    ...args: Parameters<StoreApi[K]>
  ) => Promise<RpcOutcome<Awaited<ReturnType<StoreApi[K]>>>>;
};

/** Who a binding calls as: whoever wrote its configuration says so. */
export type StoreProps = {
  readonly subject?: string;
  readonly scopes?: readonly Scope[];
  readonly issuer?: string;
};

/** Whoever may bind the Worker is trusted with all of it, unless the binding's `props` name someone. */
export function principalOf({ subject, scopes, issuer = "holdfast:binding" }: StoreProps = {}): Principal {
  const known = { kind: "identified", issuer, expiresAt: null } as const;
  if (subject === undefined && scopes === undefined) return { ...known, subject: "binding", scopes: ["admin"] };
  if (typeof subject !== "string" || subject === "" || !Array.isArray(scopes) || !scopes.every(isScope)) {
    throw new TaskError(
      "misconfigured",
      "The props of the binding must have a subject and a list of scopes among client, worker and admin, or neither.",
    );
  }
  return { ...known, subject, scopes };
}

/** The call's value, or its error as one. What is no `TaskError` goes to the log. */
export async function outcomeOf<T>(call: () => Promise<T>, log: (line: object) => void): Promise<RpcOutcome<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (thrown) {
    if (!(thrown instanceof TaskError)) logThrown(thrown, { status: 500, code: "internal" }, log);
    const { code, message, data } = thrown instanceof TaskError ? thrown : new TaskError("internal", FAULT);
    return { ok: false, code, message, data };
  }
}

const SCOPES: readonly unknown[] = ["client", "worker", "admin"] satisfies Scope[];

const isScope = (value: unknown): value is Scope => SCOPES.includes(value);
