import { describe, expect, it } from "vitest";
import * as whole from "zod";
import * as mini from "zod/mini";
import { defineTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { withJsonSchema } from "../../src/tool/with-json-schema";

// The same tool twice. That `run` gets typed arguments is checked with all other types.

const withZod = defineTool({
  name: "repeat",
  description: "Says it again.",
  input: whole.object({
    text: whole.string().min(1).describe("What to say."),
    times: whole.int().min(1).max(9).default(2).describe("How often."),
    mark: whole.enum(["!", "?"]).optional(),
    at: whole.iso.datetime({ error: "Give a time." }).optional(),
  }),
  output: whole.object({ said: whole.string().describe("All of it."), length: whole.int().min(0) }),
  task: "optional",
  run: ({ text, times, mark = "" }) => ({ said: `${text.repeat(times)}${mark}`, length: text.length * times }),
});

const withMini = defineTool({
  name: "repeat",
  description: "Says it again.",
  input: withJsonSchema(
    mini.object({
      text: mini.string().check(mini.minLength(1), mini.describe("What to say.")),
      times: mini._default(mini.int().check(mini.minimum(1), mini.maximum(9)), 2).check(mini.describe("How often.")),
      mark: mini.optional(mini.enum(["!", "?"])),
      at: mini.optional(mini.iso.datetime({ error: "Give a time." })),
    }),
  ),
  output: withJsonSchema(
    mini.object({
      said: mini.string().check(mini.describe("All of it.")),
      length: mini.int().check(mini.minimum(0)),
    }),
  ),
  task: "optional",
  run: ({ text, times, mark = "" }) => ({ said: `${text.repeat(times)}${mark}`, length: text.length * times }),
});

describe.each([
  ["zod", withZod],
  ["zod/mini", withMini],
])("a tool whose schemas are of %s", (_, tool) => {
  const registered = createRegistry([tool]).get("repeat");
  const parse = (args: Readonly<Record<string, string | number>>) => registered?.parseArguments(args);

  it("is listed with its descriptions, defaults and bounds", () => {
    expect(registered?.inputSchema).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        text: { type: "string", minLength: 1, description: "What to say." },
        times: { type: "integer", minimum: 1, maximum: 9, default: 2, description: "How often." },
        mark: { type: "string", enum: ["!", "?"] },
        at: { type: "string", format: "date-time", pattern: expect.any(String) },
      },
      required: ["text"],
    });
    expect(registered?.outputSchema).toMatchObject({
      properties: { said: { type: "string", description: "All of it." }, length: { type: "integer", minimum: 0 } },
      required: ["said", "length"],
    });
  });

  it("gets its defaults", () => {
    expect(parse({ text: "a" })).toEqual({ ok: true, value: { text: "a", times: 2 } });
  });

  it.each<[Readonly<Record<string, string | number>>, string]>([
    [{}, "arguments.text is required."],
    [{ text: 1 }, "arguments.text must be a string."],
    [{ text: "" }, "arguments.text must be at least 1 character long."],
    [{ text: "a", times: 10 }, "arguments.times must be at most 9."],
    [{ text: "a", times: 1.5 }, "arguments.times must be an integer."],
    [{ text: "a", mark: "." }, 'arguments.mark must be "!" or "?".'],
    [{ text: "a", at: "noon" }, "arguments.at: Give a time."],
  ])("refuses %j", (args, message) => {
    expect(parse(args)).toEqual({ ok: false, message });
  });

  it("returns what its output schema says, and nothing else", () => {
    const said = { said: "aa", length: 2 };
    expect(registered?.toResult(said)).toMatchObject({ ok: true, value: { structuredContent: said } });
    expect(registered?.toResult({ said: "aa" })).toEqual({ ok: false, message: "output.length is required." });
  });
});

describe("a schema of zod/mini that is not wrapped", () => {
  it("is refused with what to do about it", () => {
    const tool = { ...withMini, input: mini.object({}) };
    expect(() => createRegistry([tool])).toThrow(
      'Tool "repeat": `input`: a schema of zod/mini cannot write its JSON Schema; wrap it in withJsonSchema',
    );
  });
});
