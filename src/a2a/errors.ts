import type { Principal } from "../service/principal";
import { FAULT, logThrown, retryAfter } from "../service/thrown";
import { TaskError, type TaskErrorCode, type TaskErrorData } from "../task/errors";
import type { JsonText } from "../task/json";

/** What only this protocol has a word for: of tasks, of JSON-RPC, and of the HTTP request around it. */
export type Fault =
  | "not_cancelable"
  | "push_not_supported"
  | "unsupported"
  | "content_type"
  | "version_not_supported"
  | "parse"
  | "invalid_request"
  | "method_not_found"
  | "media_type"
  | "method_not_allowed"
  | "unauthenticated"
  | "insufficient_scope";

/** A field that does not fit, by its path from the root of the params, e.g. `message.parts[0].text`. */
export type Violation = { readonly field: string; readonly description: string };

type Extras = TaskErrorData & {
  readonly violations?: readonly Violation[];
  readonly headers?: Readonly<Record<string, string>>;
};

export class A2aError extends Error {
  override readonly name = "A2aError";
  readonly fault: Fault | TaskErrorCode;
  readonly extras: Extras;

  constructor(fault: Fault | TaskErrorCode, message: string, extras: Extras = {}) {
    super(message);
    this.fault = fault;
    this.extras = extras;
  }
}

/** JSON-RPC code, HTTP status, google.rpc code; the reason, where it is not the name in capitals. */
type Wire = readonly [code: number, status: number, rpc: string, reason?: string];

const UNSUPPORTED: Wire = [-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"];

/** What the inside calls it → what this protocol says (A2A 1.0 §5.4, §9.5). Codes above zero are our own. */
const WIRE: Readonly<Record<Fault | TaskErrorCode, Wire>> = {
  not_found: [-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"],
  not_cancelable: [-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"],
  push_not_supported: [-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  unsupported: UNSUPPORTED,
  settled: UNSUPPORTED,
  capability_missing: UNSUPPORTED,
  task_required: UNSUPPORTED,
  content_type: [-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"],
  // Of the request itself, where HTTP has a status for it.
  media_type: [-32005, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"],
  version_not_supported: [-32009, 400, "FAILED_PRECONDITION"],
  parse: [-32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR"],
  invalid_request: [-32600, 400, "INVALID_ARGUMENT"],
  method_not_found: [-32601, 404, "NOT_FOUND"],
  method_not_allowed: [-32600, 405, "UNIMPLEMENTED"],
  unauthenticated: [-32600, 401, "UNAUTHENTICATED"],
  insufficient_scope: [-32600, 403, "PERMISSION_DENIED"],
  invalid: [-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"],
  unknown_tool: [-32602, 400, "INVALID_ARGUMENT", "UNKNOWN_SKILL"],
  conflict: [40900, 409, "ABORTED"],
  limit_reached: [42900, 429, "RESOURCE_EXHAUSTED"],
  rate_limited: [42901, 429, "RESOURCE_EXHAUSTED"],
  too_large: [41300, 413, "OUT_OF_RANGE"],
  overloaded: [-32603, 503, "UNAVAILABLE"],
  misconfigured: [-32603, 500, "INTERNAL"],
  internal: [-32603, 500, "INTERNAL"],
};

/** An error as both bindings write it, each in its own frame. */
export type Explained = {
  readonly code: number;
  readonly status: number;
  readonly rpc: string;
  readonly message: string;
  /** google.rpc messages, of which the first is an ErrorInfo. */
  readonly details: readonly object[];
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * Whatever was thrown, as this protocol says it. The text of an exception goes to the log and nowhere else. A refusal
 * leaves a line, unless the service has written it.
 */
export function explainThrown(
  thrown: unknown,
  log: ((line: object) => void) | undefined,
  principal?: Principal,
): Explained {
  const { fault, message, extras } =
    thrown instanceof A2aError
      ? thrown
      : thrown instanceof TaskError
        ? new A2aError(thrown.code, thrown.message, thrown.data)
        : new A2aError("internal", FAULT);
  const { violations, headers, limit, value, retryAfterMs } = extras;
  const [code, status, rpc, reason = fault.toUpperCase()] = WIRE[fault];
  logThrown(thrown, { status, code: reason.toLowerCase() }, log, principal);
  const facts = Object.entries({ limit, value, retryAfterMs }).filter(([, fact]) => fact !== undefined);
  const info = {
    "@type": `${TYPE}ErrorInfo`,
    reason,
    domain: "a2a-protocol.org",
    // Strings, all of them: it is a map of those.
    ...(facts.length > 0 && { metadata: Object.fromEntries(facts.map(([name, fact]) => [name, String(fact)])) }),
  };
  const bad = violations && { "@type": `${TYPE}BadRequest`, fieldViolations: violations };
  return {
    code,
    status,
    rpc,
    message,
    details: bad ? [info, bad] : [info],
    headers: { ...(retryAfterMs !== undefined && retryAfter(retryAfterMs)), ...headers },
  };
}

const TYPE = "type.googleapis.com/google.rpc.";

export type RpcId = string | number | null;

/** A2A 1.0 §9.5. */
export const rpcErrorText = ({ code, message, details }: Explained, id: RpcId): JsonText =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data: details } });

/** A2A 1.0 §11.6. */
export const restErrorText = ({ status, rpc, message, details }: Explained): JsonText =>
  JSON.stringify({ error: { code: status, status: rpc, message, details } });
