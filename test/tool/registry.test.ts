/* oxlint-disable unicorn/no-thenable -- `then` is a keyword of JSON Schema */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { TaskError } from "../../src/task/errors";
import { defineTool, type AnyTool } from "../../src/tool/define-tool";
import { createRegistry, mayContinue } from "../../src/tool/registry";

const tool = (facts: Record<string, unknown> = {}): AnyTool =>
  ({
    name: "echo",
    description: "Says it again.",
    input: z.object({}),
    task: "optional",
    run: () => "ok",
    ...facts,
  }) as AnyTool;

const faultOf = (...tools: readonly AnyTool[]): unknown => {
  try {
    createRegistry(tools);
  } catch (thrown) {
    return thrown;
  }
  return null;
};

describe("createRegistry", () => {
  it("keeps the tools in the order given, and finds them by name", () => {
    const registry = createRegistry([tool({ name: "b" }), tool({ name: "a" }), tool({ name: "B" })]);
    expect(registry.list().map(({ tool: { name } }) => name)).toEqual(["b", "a", "B"]);
    expect(registry.get("B")?.tool.name).toBe("B");
    expect(registry.get("c")).toBeUndefined();
    expect(registry.get("toString")).toBeUndefined();
  });

  it.each([
    ["an empty name", { name: "" }, "`name` must be 1 to 128"],
    ["a name with a space", { name: "a b" }, "`name` must be 1 to 128"],
    ["a name that is too long", { name: "a".repeat(129) }, "`name` must be 1 to 128"],
    ["a helper tool's name", { name: "task_result" }, "built-in helper tool"],
    ["a blank description", { description: " \n" }, "`description` must not be empty"],
    ["no run", { run: undefined }, "`run` must be a function"],
    ["an unknown task support", { task: "sometimes" }, '`task` must be "required", "optional" or "forbidden"'],
    ["an unknown kind of question", { asks: ["form", "guess"] }, "`asks` may list"],
    ["a timeout the platform would cut off", { timeoutMs: 840_001 }, "`timeoutMs` must be at most 840000"],
    [
      "a timeout of more than a day",
      { runs: "workflow", timeoutMs: 86_400_001 },
      "`timeoutMs` must be at most 86400000",
    ],
    ["an unknown runner", { runs: "cluster" }, '`runs` must be "object" or "workflow"'],
    ["a Workflow without a task", { runs: "workflow", task: "forbidden" }, "its work is done in a Workflow"],
    ["no timeout at all", { timeoutMs: 0 }, "`timeoutMs` must be a whole number"],
    ["an endless ttl", { ttlMs: Infinity }, "`ttlMs` must be a whole number"],
    ["a poll interval of zero", { pollIntervalMs: 0 }, "`pollIntervalMs` must be a whole number"],
    ["half an attempt", { maxAttempts: 0.5 }, "`maxAttempts` must be a whole number"],
    ["an empty version", { version: "" }, "`version` must not be empty"],
    ["compatible without a version", { compatible: () => true }, "`compatible` needs a `version`"],
    ["a hint that is text", { annotations: { readOnlyHint: "yes" } }, "hints in `annotations` must be true or false"],
    ["a title that is no text", { title: 5 }, "`title` must be text"],
    ["an input that is a list", { input: { type: "array" } }, 'the root of `input` must have `type: "object"`'],
    ["an input of no type", { input: { properties: {} } }, 'the root of `input` must have `type: "object"`'],
    ["no input", { input: undefined }, "`input`: the schema is not JSON"],
    [
      "a zod type that JSON does not have",
      { input: z.object({ at: z.date() }) },
      "`input`: the zod schema cannot be written as JSON Schema",
    ],
    [
      "a schema of another dialect",
      { output: { $schema: "http://json-schema.org/draft-07/schema#" } },
      "`output`: the dialect",
    ],
    [
      "a header on a number",
      { input: { type: "object", properties: { n: { type: "number", "x-mcp-header": "N" } } } },
      "x-mcp-header",
    ],
  ])("refuses %s, and names the tool", (_, facts, message) => {
    const fault = faultOf(tool(facts));
    expect(fault).toBeInstanceOf(TaskError);
    expect(fault).toMatchObject({ code: "misconfigured", message: expect.stringContaining(message) });
    const { name = "echo" } = facts as { name?: string };
    expect((fault as TaskError).message.startsWith(`Tool ${JSON.stringify(name)}: `)).toBe(true);
  });

  it("refuses the same name twice", () => {
    expect(faultOf(tool(), tool())).toMatchObject({
      code: "misconfigured",
      message: 'Tool "echo": another tool has the same `name`.',
    });
  });

  it("takes the longest timeout and an unlimited ttl", () => {
    expect(faultOf(tool({ timeoutMs: 840_000, ttlMs: null }))).toBeNull();
    expect(faultOf(tool({ runs: "workflow", timeoutMs: 86_400_000 }))).toBeNull();
  });

  it("lists a zod input as a JSON Schema of type object, as callers see it", () => {
    const input = z.object({ ms: z.int().min(0).default(10), text: z.string().optional() }).refine(() => true);
    const registered = createRegistry([tool({ input })]).get("echo");
    expect(registered?.inputSchema).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        ms: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 10 },
        text: { type: "string" },
      },
    });
    expect(registered).not.toHaveProperty("outputSchema");
  });

  it("lists a JSON Schema untouched, with every keyword (MCP 2026-07-28 tools §Tool)", () => {
    const input = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" } } } },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        tags: { type: "array", uniqueItems: true },
      },
      allOf: [{ anyOf: [{ required: ["name"] }, { required: ["address"] }] }],
      if: { required: ["name"] },
      then: { properties: { name: { minLength: 1 } } },
      else: {},
      additionalProperties: false,
      "x-vendor": { kept: true },
    };
    const registered = createRegistry([tool({ input })]).get("echo");
    expect(JSON.stringify(registered?.inputSchema)).toBe(JSON.stringify(input));
    registered?.parseArguments({ name: "x" });
    expect(JSON.stringify(registered?.inputSchema)).toBe(JSON.stringify(input));
  });

  it("applies zod's defaults and transforms to the arguments", () => {
    const input = z.object({ ms: z.int().default(10), word: z.string().transform((word) => word.length) });
    const registered = createRegistry([tool({ input })]).get("echo");
    expect(registered?.parseArguments({ word: "four", unknown: 1 })).toEqual({ ok: true, value: { ms: 10, word: 4 } });
  });

  it("types run by its input and output", () => {
    const declared = defineTool({
      name: "typed",
      description: "d",
      input: z.object({ ms: z.int() }),
      output: z.object({ slept: z.number() }),
      task: "optional",
      run: ({ ms }) => ({ slept: ms + 1 }),
    });
    expect(declared.run({ ms: 1 }, {} as never)).toEqual({ slept: 2 });
    defineTool({
      name: "mistyped",
      description: "d",
      input: z.object({}),
      output: z.object({ slept: z.number() }),
      task: "optional",
      // @ts-expect-error -- the output schema wants a number
      run: () => ({ slept: "long" }),
    });
    defineTool({
      name: "no_output",
      description: "d",
      input: { type: "object" },
      task: "optional",
      // @ts-expect-error -- without an output schema there is only text and a whole result
      run: () => ({ slept: 1 }),
    });
  });
});

describe("arguments with a key named __proto__", () => {
  const args = JSON.parse('{"__proto__": {"polluted": true}, "text": "x"}') as { readonly text: string };

  it("reach a JSON Schema tool as they were sent", () => {
    const registered = createRegistry([
      tool({ input: { type: "object", properties: { text: { type: "string" } } } }),
    ]).get("echo");
    const parsed = registered?.parseArguments(args);
    expect(JSON.stringify(parsed)).toBe('{"ok":true,"value":{"__proto__":{"polluted":true},"text":"x"}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("are seen by additionalProperties and by a property of that name", () => {
    const closed = createRegistry([
      tool({ input: { type: "object", properties: { text: {} }, additionalProperties: false } }),
    ]).get("echo");
    expect(closed?.parseArguments(args)).toEqual({
      ok: false,
      message: 'arguments.__proto__ is not allowed; known here: "text".',
    });

    const input = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as object;
    const named = createRegistry([tool({ input })]).get("echo");
    expect(named?.parseArguments(args)).toEqual({ ok: false, message: "arguments.__proto__ must be a string." });
  });

  it("neither pollute nor reach a zod tool", () => {
    for (const input of [z.object({ text: z.string() }), z.looseObject({ text: z.string() })]) {
      const parsed = createRegistry([tool({ input })])
        .get("echo")
        ?.parseArguments(args);
      expect(parsed).toEqual({ ok: true, value: { text: "x" } });
      expect(parsed?.ok && (parsed.value as { polluted?: boolean }).polluted).toBeUndefined();
    }
  });
});

describe("mayContinue", () => {
  it("always, for a tool without a version", () => {
    expect(mayContinue(tool(), null)).toBe(true);
    expect(mayContinue(tool(), "1")).toBe(true);
  });

  it("only the same version, unless the tool says more", () => {
    expect(mayContinue(tool({ version: "2" }), "2")).toBe(true);
    expect(mayContinue(tool({ version: "2" }), "1")).toBe(false);
    expect(mayContinue(tool({ version: "2" }), null)).toBe(false);
    const compatible = (earlier: string | null): boolean => earlier === "1";
    expect(mayContinue(tool({ version: "2", compatible }), "1")).toBe(true);
    expect(mayContinue(tool({ version: "2", compatible }), "0")).toBe(false);
    expect(mayContinue(tool({ version: "2", compatible }), null)).toBe(false);
  });
});
