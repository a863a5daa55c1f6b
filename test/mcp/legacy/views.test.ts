import { describe, expect, it } from "vitest";
import * as z from "zod";
import { defineTool } from "../../../src/tool/define-tool";
import { fixtureTools } from "../../fixtures/tools";
import { connect } from "../../support/legacy";
import { serve, type Wire } from "../../support/mcp";

const common = { description: "Returns a value.", input: z.object({}), annotations: { readOnlyHint: true } };
const anObject = defineTool({
  ...common,
  name: "object",
  title: "An object",
  task: "forbidden",
  output: z.object({ n: z.number() }),
  run: () => ({ n: 1 }),
});
const aList = defineTool({
  ...common,
  name: "list",
  task: "optional",
  output: z.array(z.number()),
  run: () => [1, 2],
});
const aLink = defineTool({
  ...common,
  name: "link",
  task: "required",
  run: () => ({ content: [{ type: "resource_link", uri: "test://a", name: "A" }] }),
});
const tools = [anObject, aList, aLink];

const listed = async (version: string): Promise<Wire[]> => {
  const client = await connect(await serve(tools), { version });
  return (await client.call("tools/list")).result.tools.filter(({ name }: Wire) => !name.startsWith("task_"));
};

describe("tools/list", () => {
  it("(T1) says on 2025-11-25 how each tool may be called", async () => {
    const found = await listed("2025-11-25");
    expect(found.map(({ execution }) => execution)).toEqual([
      { taskSupport: "forbidden" },
      { taskSupport: "optional" },
      { taskSupport: "required" },
    ]);
    expect(found[0]).toMatchObject({ title: "An object", outputSchema: { type: "object" } });
  });

  it("has titles and output schemas on 2025-06-18, and no word of tasks", async () => {
    const [object] = await listed("2025-06-18");
    expect(object).toMatchObject({
      title: "An object",
      outputSchema: { type: "object" },
      annotations: common.annotations,
    });
    expect(object).not.toHaveProperty("execution");
  });

  it("has neither on 2025-03-26: the title is an annotation", async () => {
    const [object] = await listed("2025-03-26");
    expect(Object.keys(object).sort()).toEqual(["annotations", "description", "inputSchema", "name"]);
    expect(object.annotations).toEqual({ title: "An object", readOnlyHint: true });
  });

  it.each(["2025-11-25", "2025-06-18"])(
    "leaves an output schema out on %s that is not of an object",
    async (version) => {
      expect((await listed(version))[1]).not.toHaveProperty("outputSchema");
    },
  );

  it.each([{ cursor: "" }, { cursor: "x" }])("is one page: %j is -32602", async (params) => {
    const client = await connect(await serve(fixtureTools));
    expect((await client.call("tools/list", params)).error.code).toBe(-32602);
  });

  it("takes an absent, an empty and a strange body of params", async () => {
    const client = await connect(await serve(tools));
    for (const params of [undefined, {}, { later: true, _meta: { x: 1 } }])
      expect((await client.call("tools/list", params)).result.tools.length).toBeGreaterThan(2);
  });
});

describe("a result", () => {
  const of = async (version: string, name: string): Promise<Wire> =>
    (await (await connect(await serve(tools), { version })).tool(name)).result;

  it.each(["2025-11-25", "2025-06-18"])("has its structured content on %s where that is an object", async (version) => {
    expect(await of(version, "object")).toEqual({
      content: [{ type: "text", text: '{"n":1}' }],
      structuredContent: { n: 1 },
    });
    expect(await of(version, "list")).toEqual({ content: [{ type: "text", text: "[1,2]" }] });
  });

  it("has none on 2025-03-26, where the text says the same", async () => {
    expect(await of("2025-03-26", "object")).toEqual({ content: [{ type: "text", text: '{"n":1}' }] });
  });

  it("has a link as such, and as text on 2025-03-26, which knows none", async () => {
    expect((await of("2025-06-18", "link")).content[0].type).toBe("resource_link");
    expect((await of("2025-03-26", "link")).content).toEqual([{ type: "text", text: "A: test://a" }]);
  });
});
