import { describe, expect, it } from "vitest";
import { originAllowed, parseOrigin } from "../src/origin";

const from = (origin: string | null, url = "https://holdfast.example/mcp") =>
  new Request(url, { method: "POST", headers: origin === null ? {} : { Origin: origin } });

const allowed = (origin: string | null, options: { url?: string; origins?: readonly string[] } = {}) =>
  originAllowed(from(origin, options.url), { allowedOrigins: options.origins ?? [] });

describe("originAllowed", () => {
  it("lets a request without Origin pass on any host", () => {
    expect(allowed(null)).toBe(true);
    expect(allowed(null, { url: "http://localhost:8787/mcp" })).toBe(true);
  });

  it("lets listed origins pass, and only those", () => {
    const origins = ["https://app.example", "https://app.example:8443", "chrome-extension://abcdef"];
    for (const origin of [...origins, "https://APP.example", "https://app.example:443"]) {
      expect(allowed(origin, { origins }), origin).toBe(true);
    }
    for (const origin of [
      "http://app.example",
      "https://app.example:444",
      "https://evil.app.example",
      "https://app.example.evil",
    ]) {
      expect(allowed(origin, { origins }), origin).toBe(false);
    }
  });

  it.each(["http://localhost:3000", "http://127.0.0.1", "https://127.8.8.8:1", "http://[::1]:5173"])(
    "lets %s pass on a loopback host only",
    (origin) => {
      expect(allowed(origin, { url: "http://localhost:8787/mcp" })).toBe(true);
      expect(allowed(origin, { url: "http://[::1]:8787/mcp" })).toBe(true);
      expect(allowed(origin)).toBe(false);
    },
  );

  it.each([
    "null",
    "",
    "http://evil.example",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "ftp://localhost",
    "localhost",
    "*",
  ])("refuses %j on a loopback host", (origin) => {
    expect(allowed(origin, { url: "http://localhost:8787/mcp" })).toBe(false);
  });

  it("refuses a rebound name, whatever it claims as its origin", () => {
    const url = "http://evil.example:8787/mcp";
    expect(allowed("http://evil.example:8787", { url })).toBe(false);
    expect(allowed("http://localhost:8787", { url })).toBe(false);
  });

  it("refuses null even where it is listed", () => {
    expect(allowed("null", { origins: ["null"] })).toBe(false);
  });
});

describe("parseOrigin", () => {
  it.each([
    ["https://EXAMPLE.com", "https://example.com"],
    ["https://example.com/", "https://example.com"],
    ["https://example.com:443", "https://example.com"],
    ["http://example.com:443", "http://example.com:443"],
    ["http://[0:0::1]:3000", "http://[::1]:3000"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
    ["vscode-webview://AbC", "vscode-webview://abc"],
  ])("spells %s as %s", (text, origin) => {
    expect(parseOrigin(text)).toBe(origin);
    expect(parseOrigin(origin)).toBe(origin);
  });

  it.each([
    "",
    "null",
    "*",
    "example.com",
    "localhost:3000",
    "https://",
    "https://*.example.com",
    "https://example.com/app",
    "https://example.com?",
    "https://example.com#a",
    "https://user@example.com",
    "https://a.example, https://b.example",
    "file:///tmp",
    "data:text/plain,x",
  ])("does not take %j for an origin", (text) => {
    expect(parseOrigin(text)).toBeNull();
  });
});
