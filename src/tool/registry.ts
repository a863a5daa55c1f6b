import { TaskError } from "../task/errors";
import type { JsonObject } from "../task/json";
import type { Checked, CompiledSchema } from "./checked";
import { checkDeclaration } from "./declaration";
import type { AnyTool, InputSchema, OutputSchema, ToolResult } from "./define-tool";
import { headerParams } from "./header-params";
import { compileJsonSchema } from "./json-schema";
import { toCallToolResult } from "./result";
import { compileZod, isZod } from "./zod-schema";

export type { Checked } from "./checked";

/** A tool ready to serve: schemas compiled once, header names known. */
export type RegisteredTool = {
  readonly tool: AnyTool;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  /** `x-mcp-header` name → path of property names from the root of the arguments. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** Validates, by the tool's own check too, and, for a zod input, applies its defaults and transforms. */
  parseArguments(args: JsonObject): Checked<unknown>;
  /** Whatever `run` returned → a valid `CallToolResult`; a fault of the tool is a message for the operator. */
  toResult(returned: unknown): Checked<ToolResult>;
};

export type Registry = {
  get(name: string): RegisteredTool | undefined;
  /** In the order given. */
  list(): readonly RegisteredTool[];
};

/** Checks and compiles every tool; a fault of a declaration is a `misconfigured` error that names the tool. */
export function createRegistry(tools: readonly AnyTool[]): Registry {
  const byName = new Map<string, RegisteredTool>();
  for (const tool of tools) {
    const registered = registerTool(tool);
    if (byName.has(tool.name)) {
      throw new TaskError("misconfigured", `Tool ${JSON.stringify(tool.name)}: another tool has the same \`name\`.`);
    }
    byName.set(tool.name, registered);
  }
  const list = [...byName.values()];
  return { get: (name) => byName.get(name), list: () => list };
}

/** Whether a task begun by the recorded version of its tool may go on with the code deployed now. */
export function mayContinue(tool: AnyTool, recordedVersion: string | null): boolean {
  if (tool.version === undefined || tool.version === recordedVersion) return true;
  return tool.compatible?.(recordedVersion) ?? false;
}

/** Checks and compiles one tool; a fault of its declaration is a `misconfigured` error that names it. */
export function registerTool(tool: AnyTool): RegisteredTool {
  checkDeclaration(tool);
  const where = `Tool ${JSON.stringify(tool.name)}`;
  // By the names that whoever declared it knows.
  const [inputField, outputField] =
    tool.queue === undefined ? ["`input`", "`output`"] : ["`inputSchema`", "`outputSchema`"];
  const input = compile(tool.input, "input", `${where}: ${inputField}`);
  if (input.schema["type"] !== "object") {
    throw new TaskError("misconfigured", `${where}: the root of ${inputField} must have \`type: "object"\`.`);
  }
  const headers = headerParams(input.schema, `${where}: ${inputField}`);
  const output = tool.output === undefined ? undefined : compile(tool.output, "output", `${where}: ${outputField}`);
  return {
    tool,
    inputSchema: input.schema,
    ...(output && { outputSchema: output.schema }),
    headers,
    parseArguments(args) {
      const checked = input.check(args, "arguments");
      const wrong = checked.ok ? tool.check?.(checked.value) : undefined;
      return wrong === undefined ? checked : { ok: false, message: `arguments: ${wrong}` };
    },
    toResult: (returned) => toCallToolResult(returned, output),
  };
}

const compile = (schema: InputSchema | OutputSchema, side: "input" | "output", where: string): CompiledSchema =>
  isZod(schema) ? compileZod(schema, side, where) : compileJsonSchema(schema, where);
