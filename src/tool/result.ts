import { isObject, type Json } from "../task/json";
import { contentBlocks, toolResult } from "./content-block";
import type { Checked, CompiledSchema } from "./checked";
import type { ToolResult } from "./define-tool";
import { checkZod } from "./zod-schema";

const RESULT_FIELDS = ["content", "structuredContent", "isError", "_meta"];

/**
 * Whatever a tool's `run` returned → a valid `CallToolResult`. Messages are for the operator: what is wrong with a
 * result is the tool's fault, never the caller's.
 */
export function toCallToolResult(returned: unknown, output: CompiledSchema | undefined): Checked<ToolResult> {
  const value = asJson(returned);
  if (value === undefined) return { ok: false, message: `The tool returned ${kindOf(returned)}, which is not JSON.` };
  if (isWholeResult(value, output)) return checkWhole(value, output);
  if (output) return fromValue(value, output);
  if (typeof value === "string") return { ok: true, value: { content: [{ type: "text", text: value }] } };
  return {
    ok: false,
    message: "The tool returned neither text nor a tool result; to return a value, declare its `output` schema.",
  };
}

/** MCP 2026-07-28 tools §Structured Content: the same JSON also goes into a text block. */
function fromValue(value: Json, output: CompiledSchema): Checked<ToolResult> {
  const checked = structured(value, output, "output");
  if (!checked.ok) return checked;
  const text = JSON.stringify(checked.value);
  return { ok: true, value: { content: [{ type: "text", text }], structuredContent: checked.value } };
}

function checkWhole(value: Json, output: CompiledSchema | undefined): Checked<ToolResult> {
  const checked = checkZod(toolResult, value, "result");
  if (!checked.ok) return checked;
  for (const [index, block] of checked.value.content.entries()) {
    const fits = checkZod(contentBlocks[block.type], block, `result.content[${index}]`);
    if (!fits.ok) return fits;
  }
  const result = value as unknown as ToolResult;
  // MCP 2026-07-28 tools §Error Handling: what went wrong need not look like what was promised.
  if (!output || result.isError === true) return { ok: true, value: result };
  if (result.structuredContent === undefined) {
    return {
      ok: false,
      message: "result.structuredContent is required, because the tool declares an `output` schema.",
    };
  }
  const content = structured(result.structuredContent, output, "result.structuredContent");
  return content.ok ? { ok: true, value: { ...result, structuredContent: content.value } } : content;
}

/** The value as the schema gives it back (defaults filled in), and JSON again whatever a transform made of it. */
function structured(value: unknown, output: CompiledSchema, root: string): Checked<Json> {
  const checked = output.check(value, root);
  if (!checked.ok) return checked;
  const json = asJson(checked.value);
  return json === undefined
    ? { ok: false, message: `${root} became something that is not JSON.` }
    : { ok: true, value: json };
}

/** With an output schema only content and nothing a `CallToolResult` does not have: a value may have `content` too. */
function isWholeResult(value: Json, output: CompiledSchema | undefined): boolean {
  if (!isObject(value) || !Array.isArray(value["content"])) return false;
  return !output || Object.keys(value).every((field) => RESULT_FIELDS.includes(field));
}

function asJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

const kindOf = (value: unknown): string => (value === undefined ? "nothing" : `a value of type ${typeof value}`);
