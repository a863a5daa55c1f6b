import { describe, expect, it } from "vitest";
import { serve } from "./support/mcp";

describe("the app", () => {
  it("says at the root what it is", async () => {
    const { app } = await serve([]);
    const response = await app.request("http://localhost/");
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("/mcp")]);
  });

  it("serves nothing else", async () => {
    const { app } = await serve([]);
    for (const path of ["/mcp/more", "/mcpx", "/healthz", "/.env"]) {
      for (const method of ["GET", "POST"])
        expect((await app.request(`http://localhost${path}`, { method })).status).toBe(404);
    }
  });

  it("keeps the text of an exception to its log", async () => {
    const { app, log } = await serve([]);
    app.get("/broken", () => {
      throw new Error("a secret detail");
    });
    const response = await app.request("http://localhost/broken");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(JSON.stringify(log)).toContain("a secret detail");
  });
});
