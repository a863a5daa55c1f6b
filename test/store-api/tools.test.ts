import { describe, expect, it } from "vitest";
import { serveStore } from "../support/store";

const as = "wendy";
const tool = {
  name: "upscale",
  description: "Makes an image larger.",
  inputSchema: { type: "object", properties: { url: { type: "string" } } },
  queue: "gpu",
};

describe("a remote tool", () => {
  it("is declared, read, listed, declared anew and removed", async () => {
    const { call, deps } = await serveStore();
    const declared = await call("PUT", "/tools/upscale", { as, body: tool });
    expect([declared.status, declared.body]).toEqual([200, tool]);
    expect((await call("GET", "/tools/upscale", { as })).body).toEqual(tool);
    const { name: _, ...rest } = tool;
    const again = { ...rest, title: "Upscale" };
    expect((await call("PUT", "/tools/upscale", { as: "root", body: again })).body).toEqual({
      ...tool,
      title: "Upscale",
    });
    expect((await call("GET", "/tools", { as })).body).toEqual({ tools: [{ ...tool, title: "Upscale" }] });
    expect(await deps.remoteTools.list()).toHaveLength(1);
    expect((await call("DELETE", "/tools/upscale", { as })).body).toEqual({ removed: true });
    expect((await call("DELETE", "/tools/upscale", { as })).body).toEqual({ removed: false });
    expect((await call("GET", "/tools/upscale", { as })).status).toBe(404);
  });

  it.each<[string, object, RegExp]>([
    ["another name than the path's", { name: "other" }, /body\.name/],
    ["a name that no tool may have", { name: "a b" }, /body\.name/],
    ["no description", { description: "" }, /body\.description/],
    ["a schema that is none", { inputSchema: { type: "object", properties: { a: { type: "txt" } } } }, /"txt"/],
    ["arguments that are no object", { inputSchema: { type: "string" } }, /type: "object"/],
    ["an output schema that is none", { outputSchema: { $ref: "#/x" } }, /\$ref/],
    ["no queue", { queue: undefined }, /body\.queue/],
    ["something nobody knows", { quue: "x" }, /"quue"/],
  ])("with %s gets 400 and a sentence", async (_, over, message) => {
    const { call } = await serveStore();
    const { status, body } = await call("PUT", "/tools/upscale", { as, body: { ...tool, ...over } });
    expect([status, body.error.code]).toEqual([400, "invalid"]);
    expect(body.error.message).toMatch(message);
    expect((await call("GET", "/tools", { as })).body).toEqual({ tools: [] });
  });

  it("may not have the name of one that the deployment serves itself", async () => {
    const { call } = await serveStore();
    for (const name of ["render", "task_result"]) {
      const { status, body } = await call("PUT", `/tools/${name}`, { as, body: { ...tool, name } });
      expect([status, body.error.code], name).toEqual([400, "invalid"]);
    }
  });

  it("holds no number that would be another when it is kept", async () => {
    const { call } = await serveStore();
    const text = JSON.stringify(tool).replace('"string"', '"number","maximum":12345678901234567890');
    const { status, body } = await call("PUT", "/tools/upscale", { as, text });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("number")]);
  });
});
