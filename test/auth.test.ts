import { describe, expect, it } from "vitest";
import { authenticator } from "../src/auth";
import type { TokenEntry } from "../src/env";
import type { Scope } from "../src/service/principal";

const LOCAL = "http://localhost:8787/mcp";
const REMOTE = "https://holdfast.example/mcp";

type Settings = { readonly tokens: readonly TokenEntry[] | null; readonly allowAnonymous: boolean };

const authenticate = (request: Request, settings: Settings, scope: Scope = "client") =>
  authenticator({ ...settings, oauth: null }, { clock: Date.now })(request, { path: "/mcp", scopes: [scope] });

const request = (authorization: string | null, url = REMOTE) =>
  new Request(url, { headers: authorization === null ? {} : { Authorization: authorization } });

// Of the tokens "alpha" and "beta", by `printf %s alpha | sha256sum`.
const ALPHA: TokenEntry = {
  sha256: "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8",
  subject: "ann",
  scopes: ["client"],
};
const BETA: TokenEntry = {
  sha256: "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753",
  subject: "bob",
  scopes: ["client", "admin"],
};
const withTokens = { tokens: [ALPHA, BETA], allowAnonymous: false };
const anonymous = { kind: "principal", principal: { kind: "anonymous" } };
const onThisMachine = { kind: "principal", principal: { kind: "anonymous", local: true } };

const WRONG = [
  "",
  "Bearer",
  "Bearer ",
  "Bearer gamma",
  "Bearer alpha beta",
  "Bearer alpha, Bearer beta",
  "Basic YTpi",
  "alpha",
  "Bearer\talpha",
];

describe("authenticate with static tokens", () => {
  it("names whom the token belongs to, and with which scopes", async () => {
    const principal = { kind: "identified", issuer: "holdfast:token", expiresAt: null };
    expect(await authenticate(request("Bearer alpha"), withTokens)).toEqual({
      kind: "principal",
      principal: { ...principal, subject: "ann", scopes: ["client"] },
    });
    expect(await authenticate(request("Bearer beta"), withTokens)).toEqual({
      kind: "principal",
      principal: { ...principal, subject: "bob", scopes: ["client", "admin"] },
    });
  });

  it.each(["bearer alpha", "BEARER alpha", "Bearer   alpha"])("takes the scheme in any case: %j", async (header) => {
    expect(await authenticate(request(header), withTokens)).toMatchObject({ principal: { subject: "ann" } });
  });

  it("refuses a missing, malformed and wrong credential in the same words", async () => {
    const refused = { kind: "refused", status: 401, challenge: 'Bearer realm="holdfast"', message: expect.any(String) };
    const missing = await authenticate(request(null), withTokens);
    expect(missing).toEqual(refused);
    for (const header of [...WRONG, `Bearer ${ALPHA.sha256}`]) {
      const answer = await authenticate(request(header), withTokens);
      expect(JSON.stringify(answer), header).toBe(JSON.stringify(missing));
    }
  });

  it("looks at every byte of the hash", async () => {
    for (let at = 0; at < 64; at++) {
      const other = ALPHA.sha256[at] === "0" ? "1" : "0";
      const sha256 = ALPHA.sha256.slice(0, at) + other + ALPHA.sha256.slice(at + 1);
      const config = { tokens: [{ ...ALPHA, sha256 }], allowAnonymous: false };
      expect(await authenticate(request("Bearer alpha"), config), String(at)).toMatchObject({ kind: "refused" });
    }
  });

  it.each<[readonly Scope[], Scope, boolean]>([
    [["client"], "client", true],
    [["worker"], "client", false],
    [["client"], "worker", false],
    [["client"], "admin", false],
    [["worker"], "worker", true],
    [["worker"], "admin", false],
    [["admin"], "client", true],
    [["admin"], "worker", true],
    [["client", "worker"], "worker", true],
  ])("a token with the scopes %j, where %s is needed: %s", async (scopes, needed, enters) => {
    const config = { tokens: [{ ...ALPHA, scopes }], allowAnonymous: false };
    const answer = await authenticate(request("Bearer alpha"), config, needed);
    if (enters) return expect(answer).toMatchObject({ kind: "principal", principal: { subject: "ann", scopes } });
    expect(answer).toEqual({
      kind: "refused",
      status: 403,
      challenge: `Bearer realm="holdfast", error="insufficient_scope", scope="holdfast:${needed}"`,
      message: expect.stringContaining(`"${needed}"`),
    });
  });

  it("opens a door of several scopes to whoever has one of them, and names them all to others", async () => {
    const of = (scopes: readonly Scope[], doors: readonly [Scope, ...Scope[]]) =>
      authenticator({ tokens: [{ ...ALPHA, scopes }], oauth: null, allowAnonymous: false }, { clock: Date.now })(
        request("Bearer alpha"),
        { path: "/store/v1", scopes: doors },
      );
    for (const scope of ["client", "worker", "admin"] as const)
      expect(await of([scope], ["client", "worker"])).toMatchObject({ kind: "principal" });
    expect(await of(["client"], ["worker", "admin"])).toEqual({
      kind: "refused",
      status: 403,
      challenge: 'Bearer realm="holdfast", error="insufficient_scope", scope="holdfast:worker"',
      message: expect.stringMatching(/"worker" or "admin".*"holdfast:worker" or "holdfast:admin"/),
    });
  });

  it("does not repeat what was presented", async () => {
    expect(JSON.stringify(await authenticate(request("Bearer gamma-ray"), withTokens))).not.toContain("gamma");
  });

  it("turns anonymous access off on every host, also where it was allowed", async () => {
    for (const url of [LOCAL, REMOTE]) {
      expect(await authenticate(request(null, url), { ...withTokens, allowAnonymous: true })).toMatchObject({
        kind: "refused",
      });
    }
  });
});

describe("authenticate without any auth setting", () => {
  const local = { tokens: null, allowAnonymous: false };
  const open = { tokens: null, allowAnonymous: true };

  it("lets anonymous callers in on loopback hosts", async () => {
    for (const url of [LOCAL, "http://127.0.0.1:8787/mcp", "http://[::1]/mcp"]) {
      expect(await authenticate(request(null, url), local)).toEqual(onThisMachine);
      expect(await authenticate(request(null, url), open)).toEqual(onThisMachine);
    }
  });

  it("lets anonymous callers in elsewhere only when that is allowed", async () => {
    expect(await authenticate(request(null, REMOTE), local)).toMatchObject({ kind: "refused", status: 401 });
    expect(await authenticate(request(null, REMOTE), open)).toEqual(anonymous);
  });

  it("takes anonymous callers for clients, on this machine for workers too, and for nothing more", async () => {
    expect(await authenticate(request(null, LOCAL), local, "worker")).toEqual(onThisMachine);
    expect(await authenticate(request(null, REMOTE), open, "worker")).toMatchObject({ kind: "refused", status: 403 });
    for (const url of [LOCAL, REMOTE])
      expect(await authenticate(request(null, url), open, "admin")).toMatchObject({ kind: "refused", status: 403 });
  });

  it("takes nobody for local whose request was addressed elsewhere", async () => {
    const rebound = new Request(LOCAL, { headers: { Host: "evil.example" } });
    expect(await authenticate(rebound, open, "worker")).toMatchObject({ kind: "refused", status: 403 });
  });

  it.each([...WRONG, "Bearer alpha"])("refuses %j, which nothing can confirm", async (header) => {
    for (const url of [LOCAL, REMOTE]) {
      expect(await authenticate(request(header, url), open)).toMatchObject({ kind: "refused", status: 401 });
    }
  });
});
