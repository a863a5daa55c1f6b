import { describe, expect, it } from "vitest";
import { safeFetch } from "../../src/service/safe-fetch";
import { ToolError } from "../../src/tool/define-tool";

type Sent = { readonly url: string; readonly init: RequestInit };

/** A network that answers each URL with the given response, and remembers what was sent. */
function network(answers: Readonly<Record<string, () => Response>> = {}) {
  const sent: Sent[] = [];
  const send = async (url: string, init: RequestInit = {}): Promise<Response> => {
    sent.push({ url, init });
    return answers[url]?.() ?? new Response("ok");
  };
  return { sent, send, fetch: safeFetch({ allowLocal: false }, send) };
}

const redirect =
  (location: string, status = 302) =>
  (): Response =>
    new Response(null, { status, headers: { location } });
const header = ({ init }: Sent, name: string): string | null => new Headers(init.headers).get(name);

describe("safeFetch", () => {
  it.each([
    "https://example.com/a?b=c",
    "http://example.com/",
    "https://example.com:443/",
    "http://example.com:8080/",
    "https://example.com:8443/",
    "https://8.8.8.8/",
    "https://172.32.0.1/",
    "https://172.15.0.1/",
    "https://11.0.0.1/",
    "https://100.63.0.1/",
    "https://169.253.0.1/",
    "https://198.20.0.1/",
    "https://223.255.255.1/",
    "https://100.128.0.1/",
    "https://192.0.1.1/",
    "https://[2606:4700:4700::1111]/",
    "https://[2001:4860:4860::8888]/",
    "https://xn--bcher-kva.example.com/",
    "https://localhost.example.com/",
    "https://notlocal.com./",
  ])("fetches %s", async (url) => {
    const { sent, fetch } = network();
    expect(await (await fetch(url)).text()).toBe("ok");
    expect(sent.map((request) => request.url)).toEqual([new URL(url).href]);
  });

  it.each([
    ["ftp://example.com/"],
    ["file:///etc/passwd"],
    ["data:text/plain,x"],
    ["javascript:1"],
    ["blob:https://example.com/x"],
    ["ws://example.com/"],
  ])("refuses the scheme of %s", async (url) => {
    await refused(url, "must be http or https");
  });

  it.each(["", "/relative", "//example.com/", "http://", "https://exa mple.com/", "https://1.2.3.4.5/"])(
    "refuses %j, which is no URL",
    async (url) => {
      await refused(url, "not a valid absolute URL");
    },
  );

  it.each(["https://user@example.com/", "https://user:pass@example.com/", "https://:pass@example.com/"])(
    "refuses the user information in %s",
    async (url) => {
      await refused(url, "user name or password");
    },
  );

  it.each(["http://example.com:22/", "http://example.com:6379/", "https://example.com:8081/", "http://example.com:1/"])(
    "refuses the port of %s",
    async (url) => {
      await refused(url, "allowed are 80, 443, 8080 and 8443");
    },
  );

  it.each([
    // Names that only mean something inside.
    "localhost",
    "LOCALHOST",
    "localhost.",
    "a.localhost",
    "printer.local",
    "metadata.google.internal",
    "metadata.google.internal.",
    "router",
    "intranet",
    "nas.lan",
    "kubernetes.default.svc",
    "x.home.arpa",
    "a.corp",
    "localhost.localdomain",
    "ⓛocalhost",
    "hidden.onion",
    // IPv4: every special block, and other ways to write an address.
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.1.2.3",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "１２７.0.0.1",
    "%31%32%37.0.0.1",
    "127。0。0。1",
    "0xa9fea9fe",
    // IPv6: everything but global unicast, and IPv4 in disguise.
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fdff::1]",
    "[ff02::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:8.8.8.8]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::8.8.8.8]",
    "[64:ff9b:1::1]",
    "[100::1]",
    "[2001::1]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:db8::1]",
    "[2002:7f00:1::]",
    "[3fff:fff::1]",
    "[5f00::1]",
    "[4000::1]",
  ])("refuses the host %s", async (host) => {
    await refused(`http://${host}/`, "local, private or reserved address");
  });

  it("names the host it refuses", async () => {
    await refused("http://0x7f.1/x", "The URL leads to 127.0.0.1, which is a local, private or reserved address.");
  });

  it("permits local hosts and any port where that is allowed, but no other scheme and no user information", async () => {
    const { sent, send } = network();
    const fetch = safeFetch({ allowLocal: true }, send);
    await fetch("http://127.0.0.1:4321/a");
    await fetch("http://localhost:8787/");
    expect(sent).toHaveLength(2);
    await expect(fetch("ftp://localhost/")).rejects.toBeInstanceOf(ToolError);
    await expect(fetch("http://user@localhost/")).rejects.toBeInstanceOf(ToolError);
  });

  it("takes https only where it must be secure, on each hop too, unless local addresses are allowed", async () => {
    const { sent, send } = network({ "https://example.com/start": redirect("http://example.com/") });
    const fetch = safeFetch({ allowLocal: false, secure: true }, send);
    await fetch("https://example.com/");
    await expect(fetch("http://example.com/")).rejects.toThrow("The URL must be https.");
    await expect(fetch("https://example.com/start")).rejects.toThrow("The redirect from example.com must be https.");
    expect(sent).toHaveLength(2);
    await safeFetch({ allowLocal: true, secure: true }, send)("http://localhost:8787/");
    expect(sent).toHaveLength(3);
  });

  it("passes the caller's method, headers, body and signal on", async () => {
    const { sent, fetch } = network();
    const { signal } = new AbortController();
    await fetch("https://example.com/", { method: "PUT", body: "x", headers: { "x-a": "1" }, signal });
    expect(sent[0]?.init).toMatchObject({ method: "PUT", body: "x", signal, redirect: "manual" });
    expect(header(sent[0]!, "x-a")).toBe("1");
  });

  it("lets what the network throws pass", async () => {
    const down = new TypeError("Network connection lost.");
    const fetch = safeFetch({ allowLocal: false }, () => Promise.reject(down));
    await expect(fetch("https://example.com/")).rejects.toBe(down);
  });
});

describe("safeFetch following redirects", () => {
  const START = "https://example.com/start";

  it.each([301, 302, 303, 307, 308])("follows a %d, relative to where it was", async (status) => {
    const { sent, fetch } = network({ [START]: redirect("../next?x", status) });
    expect((await fetch(START)).status).toBe(200);
    expect(sent[1]?.url).toBe("https://example.com/next?x");
  });

  it.each([
    ["http://169.254.169.254/latest/meta-data", "The redirect from example.com leads to 169.254.169.254"],
    ["http://localhost/", "The redirect from example.com leads to localhost"],
    ["//[::1]/", "The redirect from example.com leads to [::1]"],
    ["http://example.org:22/", "The redirect from example.com has port 22"],
    ["https://user@example.org/", "The redirect from example.com must not carry a user name"],
    ["file:///etc/passwd", "The redirect from example.com must be http or https"],
    ["http://[", "The redirect from example.com is not a valid absolute URL"],
  ])("checks the hop to %s", async (location, message) => {
    const { sent, fetch } = network({ [START]: redirect(location) });
    await expect(fetch(START)).rejects.toThrow(message);
    expect(sent).toHaveLength(1);
  });

  it("checks later hops as well", async () => {
    const { sent, fetch } = network({
      [START]: redirect("https://example.org/"),
      "https://example.org/": redirect("http://10.0.0.1/"),
    });
    await expect(fetch(START)).rejects.toThrow("10.0.0.1");
    expect(sent).toHaveLength(2);
  });

  it("follows five hops and no more", async () => {
    const hop = (n: number): string => `https://example.com/${n}`;
    const chain = (hops: number) =>
      Object.fromEntries(Array.from({ length: hops }, (_, n) => [hop(n), redirect(hop(n + 1))]));
    const five = network(chain(5));
    expect((await five.fetch(hop(0))).status).toBe(200);
    expect(five.sent).toHaveLength(6);

    const six = network(chain(6));
    await expect(six.fetch(hop(0))).rejects.toThrow("more than 5 redirects");
    expect(six.sent).toHaveLength(6);
  });

  it("keeps credentials with the origin they were written for", async () => {
    const headers = { authorization: "Bearer x", cookie: "a=b", "proxy-authorization": "y", range: "bytes=0-1" };
    const same = network({ [START]: redirect("/next") });
    await same.fetch(START, { headers });
    expect(header(same.sent[1]!, "authorization")).toBe("Bearer x");

    for (const elsewhere of ["https://example.org/", "http://example.com/", "https://example.com:8443/"]) {
      const other = network({ [START]: redirect(elsewhere), [elsewhere]: redirect(START) });
      await other.fetch(START, { headers }).catch(() => {});
      expect(header(other.sent[0]!, "authorization")).toBe("Bearer x");
      for (const request of other.sent.slice(1)) {
        expect([
          header(request, "authorization"),
          header(request, "cookie"),
          header(request, "proxy-authorization"),
        ]).toEqual([null, null, null]);
        expect(header(request, "range")).toBe("bytes=0-1");
      }
    }
  });

  it.each<[number, string, string, string | undefined]>([
    [303, "POST", "GET", undefined],
    [303, "PUT", "GET", undefined],
    [303, "HEAD", "HEAD", undefined],
    [301, "POST", "GET", undefined],
    [302, "POST", "GET", undefined],
    [302, "PUT", "PUT", "body"],
    [307, "POST", "POST", "body"],
    [308, "POST", "POST", "body"],
  ])("after %d turns %s into %s (RFC 9110 §15.4)", async (status, method, becomes, body) => {
    const { sent, fetch } = network({ [START]: redirect("/next", status) });
    await fetch(START, {
      method,
      headers: { "content-type": "text/plain", "x-a": "1" },
      ...(method !== "HEAD" && { body: "body" }),
    });
    expect(sent[1]?.init.method).toBe(becomes);
    expect(sent[1]?.init.body).toBe(body);
    if (becomes === "GET") expect(header(sent[1]!, "content-type")).toBeNull();
    expect(header(sent[1]!, "x-a")).toBe("1");
  });

  it("does not send half a stream again", async () => {
    const { sent, fetch } = network({ [START]: redirect("/next", 307) });
    const body = new Blob(["x"]).stream();
    await expect(fetch(START, { method: "POST", body })).rejects.toThrow("cannot be sent twice");
    expect(sent).toHaveLength(1);
  });

  it("drops the body of a redirect", async () => {
    let dropped = false;
    const body = new ReadableStream({ cancel: () => void (dropped = true) });
    const { fetch } = network({ [START]: () => new Response(body, { status: 302, headers: { location: "/next" } }) });
    await fetch(START);
    expect(dropped).toBe(true);
  });

  it("leaves redirects to a caller who asks for that, and refuses them for one who wants none", async () => {
    const { sent, fetch } = network({ [START]: redirect("http://10.0.0.1/") });
    expect((await fetch(START, { redirect: "manual" })).headers.get("location")).toBe("http://10.0.0.1/");
    await expect(fetch(START, { redirect: "error" })).rejects.toThrow("answered with a redirect");
    expect(sent).toHaveLength(2);
  });

  it("hands a redirect that leads nowhere to the caller", async () => {
    const { fetch } = network({ [START]: () => new Response("choose", { status: 302 }) });
    expect((await fetch(START)).status).toBe(302);
  });
});

async function refused(url: string, message: string): Promise<void> {
  const { sent, fetch } = network();
  const thrown: unknown = await fetch(url).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(ToolError);
  expect((thrown as ToolError).message).toContain(message);
  expect(sent).toEqual([]);
}
