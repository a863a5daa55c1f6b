import { TaskError } from "../task/errors";
import { isObject, type JsonObject } from "../task/json";
import type { InputRequest } from "../task/task";
import type { Ask, AskKind } from "./context";
import { compileJsonSchema } from "./json-schema";

/**
 * An ask in the shape of the wire's request (MCP 2026-07-28 elicitation, sampling, roots). Checked here, where its
 * author sees the fault: one malformed entry would spoil the whole `tasks/get` for a strict client.
 */
export function toInputRequest(key: string, ask: Ask): InputRequest {
  const fault = (problem: string): TaskError => new TaskError("invalid", `The question "${key}" ${problem}.`);
  if ((ask.kind === "form" || ask.kind === "url") && typeof ask.message !== "string") throw fault("needs a message");
  switch (ask.kind) {
    case "form":
      if (ask.schema["type"] !== "object") throw fault("needs a schema whose type is object");
      compileJsonSchema(ask.schema, `The question "${key}"`);
      return {
        method: "elicitation/create",
        params: { mode: "form", message: ask.message, requestedSchema: ask.schema },
      };
    case "url":
      if (!/^https?:$/.test(URL.parse(ask.url)?.protocol ?? "")) throw fault("needs an http or https url");
      return { method: "elicitation/create", params: { mode: "url", message: ask.message, url: ask.url } };
    case "sampling":
      if (!Array.isArray(ask.params["messages"]) || !Number.isSafeInteger(ask.params["maxTokens"]))
        throw fault("needs messages and a whole maxTokens");
      return { method: "sampling/createMessage", params: ask.params };
    case "roots":
      return { method: "roots/list", params: {} };
  }
}

/** What a client must have declared to be asked so; an empty `elicitation` means forms (elicitation §Capabilities). */
const required: Record<AskKind, JsonObject> = {
  form: { elicitation: {} },
  url: { elicitation: { url: {} } },
  sampling: { sampling: {} },
  roots: { roots: {} },
};

/** The capabilities the asks need and the client did not declare, as an MCP `ClientCapabilities` object; null for none. */
export function missingCapabilities(asks: readonly AskKind[], declared: JsonObject): JsonObject | null {
  const missing = asks.filter((kind) => !declares(declared, kind));
  if (missing.length === 0) return null;
  // `url` is the stronger demand on `elicitation`, so it goes last.
  const ordered = [...missing].sort((a, b) => Number(a === "url") - Number(b === "url"));
  return Object.assign({}, ...ordered.map((kind) => required[kind])) as JsonObject;
}

/** Throws `capability_missing`: nobody could answer what the tool asks. */
export function requireAsks(tool: string, asks: readonly AskKind[] | undefined, declared: JsonObject): void {
  const missing = missingCapabilities(asks ?? [], declared);
  if (missing === null) return;
  const message = `The tool "${tool}" may ask for ${Object.keys(missing).join(", ")}, which the client did not declare.`;
  throw new TaskError("capability_missing", message, { requiredCapabilities: missing });
}

/** Whether a client that declared this can be asked all of it. */
export const canBeAsked = (declared: JsonObject, requests: readonly InputRequest[]): boolean =>
  requests.every((request) => declares(declared, kindOf(request)));

function kindOf({ method, params }: InputRequest): AskKind {
  switch (method) {
    case "elicitation/create":
      return params["mode"] === "url" ? "url" : "form";
    case "sampling/createMessage":
      return "sampling";
    case "roots/list":
      return "roots";
  }
}

function declares(declared: JsonObject, kind: AskKind): boolean {
  const capability = declared[kind === "form" || kind === "url" ? "elicitation" : kind];
  if (!isObject(capability)) return false;
  if (kind === "form") return isObject(capability["form"]) || !isObject(capability["url"]);
  return kind !== "url" || isObject(capability["url"]);
}
