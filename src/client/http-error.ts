import { TaskError, type TaskErrorCode, type TaskErrorData } from "../task/errors";
import { isObject, type Json, type JsonText } from "../task/json";

/** An error that a server answered with: what it would be in process, and what it is on the wire. */
export class HttpTaskError extends TaskError {
  readonly status: number;
  /** The code in the body; one that only this wire has stands here as it is. */
  readonly wireCode: string;

  constructor(status: number, text: JsonText) {
    const { code, message, data } = errorOf(text);
    super(codeFor(status, code), message ?? `The server answered with the status ${status}.`, data);
    this.status = status;
    this.wireCode = code ?? "";
  }
}

const KNOWN: Readonly<Record<TaskErrorCode, true>> = {
  not_found: true,
  invalid: true,
  unknown_tool: true,
  capability_missing: true,
  task_required: true,
  settled: true,
  conflict: true,
  limit_reached: true,
  rate_limited: true,
  too_large: true,
  overloaded: true,
  misconfigured: true,
  internal: true,
};

const isKnown = (code: string | undefined): code is TaskErrorCode => code !== undefined && Object.hasOwn(KNOWN, code);

/** A proxy in between may answer in words of its own: then the status has to say it. */
function codeFor(status: number, code: string | undefined): TaskErrorCode {
  if (isKnown(code)) return code;
  if (status === 409 || status === 412) return "conflict";
  if (status === 413) return "too_large";
  if (status === 429) return "rate_limited";
  if (status === 502 || status === 503 || status === 504) return "overloaded";
  return status >= 500 ? "internal" : "invalid";
}

type ErrorFacts = { readonly code?: string; readonly message?: string; readonly data?: TaskErrorData };

function errorOf(text: JsonText): ErrorFacts {
  const body = parsed(text);
  const error = isObject(body) ? body["error"] : undefined;
  if (!isObject(error)) return {};
  const { code, message, data } = error;
  return {
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(isObject(data) ? { data: data as TaskErrorData } : {}),
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
