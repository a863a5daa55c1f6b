import { describe, expect, it } from "vitest";
import { onLoopbackHost } from "../src/loopback";

const request = (url: string, host?: string) => new Request(url, host === undefined ? {} : { headers: { Host: host } });

describe("onLoopbackHost", () => {
  it.each([
    "http://localhost/mcp",
    "http://LOCALHOST:8787/mcp",
    "http://127.0.0.1/",
    "http://127.255.0.9:1/",
    "http://127.1/",
    "http://0x7f000001/",
    "http://[::1]:8787/",
    "http://[0:0:0:0:0:0:0:1]/",
  ])("takes %s for this machine", (url) => {
    expect(onLoopbackHost(request(url))).toBe(true);
  });

  it.each([
    "http://example.com/",
    "http://localhost.example.com/",
    "http://127.0.0.1.example.com/",
    "http://128.0.0.1/",
    "http://0.0.0.0/",
    "http://192.168.0.1/",
    "http://[::]/",
    "http://[::2]/",
    "http://localhost@example.com/",
  ])("takes %s for another", (url) => {
    // Request refuses a URL with user information, so only what it is made of is stood in for.
    expect(onLoopbackHost({ url, headers: new Headers() } as Request)).toBe(false);
  });

  it("believes a Host header that names another machine", () => {
    expect(onLoopbackHost(request("http://127.0.0.1:8787/", "evil.example"))).toBe(false);
    expect(onLoopbackHost(request("http://127.0.0.1:8787/", "localhost:8787"))).toBe(true);
    expect(onLoopbackHost(request("http://127.0.0.1:8787/", "no host"))).toBe(false);
  });

  it("does not let a Host header make a public URL local", () => {
    expect(onLoopbackHost(request("https://holdfast.example/", "localhost"))).toBe(false);
  });
});
