import { beforeAll, describe, expect, it } from "vitest";
import { checkMirrors } from "../../../src/mcp/2026-07-28/headers";
import { defineTool } from "../../../src/tool/define-tool";
import { serve, withTasks, type Served, type Wire } from "../../support/mcp";

const routed = defineTool({
  name: "routed",
  description: "Its arguments are mirrored in headers.",
  input: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      count: { type: "integer", "x-mcp-header": "Count" },
      dry: { type: "boolean", "x-mcp-header": "Dry-Run" },
      deep: { type: "object", properties: { zone: { type: "string", "x-mcp-header": "Zone" } } },
    },
  },
  task: "forbidden",
  run: (args) => JSON.stringify(args),
});
const greek = defineTool({
  name: "plain",
  description: "d",
  input: { type: "object" },
  task: "forbidden",
  run: () => "ok",
});

let served: Served;
beforeAll(async () => {
  served = await serve([routed, greek]);
});

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

async function codeOf(args: Wire, headers: Record<string, string>): Promise<number | "ok"> {
  const response = await served.send("tools/call", { name: "routed", arguments: args }, { headers });
  const message = (await response.json()) as Wire;
  if (message.error) expect([response.status, message.id]).toEqual([400, 1]);
  return message.error?.code ?? "ok";
}

describe("Mcp-Param-* (transports §Custom Headers from Tool Parameters)", () => {
  it.each<[string, Wire, Record<string, string>, number | "ok"]>([
    ["equal text", { region: "eu" }, { "Mcp-Param-Region": "eu" }, "ok"],
    ["its name in other capitals", { region: "eu" }, { "mcp-param-REGION": "eu" }, "ok"],
    ["blanks round it", { region: "eu" }, { "Mcp-Param-Region": "  eu\t" }, "ok"],
    ["the header missing", { region: "eu" }, {}, -32020],
    ["other text", { region: "eu" }, { "Mcp-Param-Region": "us" }, -32020],
    ["other capitals", { region: "eu" }, { "Mcp-Param-Region": "EU" }, -32020],
    ["an absent argument", {}, {}, "ok"],
    ["a null argument and no header", { region: null }, {}, "ok"],
    ["a header without its argument", {}, { "Mcp-Param-Region": "eu" }, "ok"],
    ["the same number", { count: 42 }, { "Mcp-Param-Count": "42" }, "ok"],
    ["the same number in another spelling", { count: 42 }, { "Mcp-Param-Count": "42.0" }, "ok"],
    ["another number", { count: 42 }, { "Mcp-Param-Count": "43" }, -32020],
    ["no number", { count: 0 }, { "Mcp-Param-Count": "" }, -32020],
    ["a hexadecimal number", { count: 42 }, { "Mcp-Param-Count": "0x2a" }, -32020],
    ["false", { dry: false }, { "Mcp-Param-Dry-Run": "false" }, "ok"],
    ["a boolean in capitals", { dry: true }, { "Mcp-Param-Dry-Run": "True" }, -32020],
    ["a nested argument", { deep: { zone: "b" } }, { "Mcp-Param-Zone": "b" }, "ok"],
    ["a nested argument that differs", { deep: { zone: "b" } }, { "Mcp-Param-Zone": "c" }, -32020],
    ["Base64", { region: "Ελλάδα" }, { "Mcp-Param-Region": base64("Ελλάδα") }, "ok"],
    ["Base64 of an empty text", { region: "" }, { "Mcp-Param-Region": "=?base64??=" }, "ok"],
    ["Base64 that differs", { region: "Ελλάδα" }, { "Mcp-Param-Region": base64("Ελλάς") }, -32020],
    ["Base64 without padding", { region: "Hello" }, { "Mcp-Param-Region": "=?base64?SGVsbG8?=" }, -32020],
    ["Base64 with stray bits", { region: "Hello" }, { "Mcp-Param-Region": "=?base64?SGVsbG9=?=" }, -32020],
    ["Base64 of another alphabet", { region: "???" }, { "Mcp-Param-Region": "=?base64?Pz8_?=" }, -32020],
    ["Base64 with a blank in it", { region: "Hello" }, { "Mcp-Param-Region": "=?base64?SGVs bG8=?=" }, -32020],
    ["Base64 of bytes that are not UTF-8", { region: "\ufffd" }, { "Mcp-Param-Region": "=?base64?/w==?=" }, -32020],
    ["the prefix alone, literally", { region: "=?base64?SGVsbG8=" }, { "Mcp-Param-Region": "=?base64?SGVsbG8=" }, "ok"],
    ["the suffix alone, literally", { region: "SGVsbG8=?=" }, { "Mcp-Param-Region": "SGVsbG8=?=" }, "ok"],
    [
      "another spelling of the prefix, literally",
      { region: "=?BASE64?SGVsbG8=?=" },
      { "Mcp-Param-Region": "=?BASE64?SGVsbG8=?=" },
      "ok",
    ],
    ["characters no header may have", { region: "é" }, { "Mcp-Param-Region": "é" }, -32020],
  ])("with %s", async (_, args, headers, expected) => {
    expect(await codeOf(args, headers)).toBe(expected);
  });

  it("leaves an argument of the wrong type to the argument check", async () => {
    const { result } = await served.tool("routed", { region: { a: 1 } });
    expect(result).toMatchObject({ isError: true });
  });
});

describe("blanks round a value", () => {
  it("do not count, also where the platform leaves them there", () => {
    // Workers do; the Headers of Node take them away.
    const values: Record<string, string> = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": " tools/call",
      "mcp-name": "plain \t",
    };
    const headers = { get: (name: string) => values[name.toLowerCase()] ?? null } as Headers;
    const request = { id: 1, method: "tools/call", params: { name: "plain" } };
    expect(() => checkMirrors(headers, request)).not.toThrow();
    values["mcp-name"] = "pl ain";
    expect(() => checkMirrors(headers, request)).toThrow("Mcp-Name");
  });
});

describe("Mcp-Name", () => {
  it("may come in Base64, and with blanks round it", async () => {
    for (const name of [base64("plain"), "  plain  "]) {
      expect((await served.tool("plain", {}, { headers: { "Mcp-Name": name } })).result.content[0].text).toBe("ok");
    }
  });

  it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
    "is required on %s, and must be the task's id",
    async (method) => {
      for (const headers of [{ "Mcp-Name": null }, { "Mcp-Name": "another" }]) {
        const response = await served.send(
          method,
          { taskId: "some-task", inputResponses: {} },
          { capabilities: withTasks, headers, id: "t" },
        );
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ id: "t", error: { code: -32020 } });
      }
    },
  );

  it("does not stand in for a name that the body lacks", async () => {
    const response = await served.send("tools/call", {}, { headers: { "Mcp-Name": "plain" } });
    expect([response.status, ((await response.json()) as Wire).error.code]).toEqual([200, -32602]);
  });

  it("that came twice differs from any name", async () => {
    const { error } = await served.tool("plain", {}, { headers: { "Mcp-Name": "plain, plain" } });
    expect(error.code).toBe(-32020);
  });
});
