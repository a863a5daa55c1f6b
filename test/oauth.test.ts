import { CompactEncrypt, exportSPKI, importJWK, SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { authenticator, type Authenticated } from "../src/auth";
import { defineTool } from "../src/tool/define-tool";
import { AUDIENCE, signed, signingKey, type SigningKey } from "./support/access-token";
import { startIssuer, type Issuer } from "./support/issuer";
import { serve, withTasks, type Served } from "./support/mcp";

const METADATA = "/.well-known/oauth-protected-resource/mcp";

let rs256: SigningKey;
let es256: SigningKey;
/** Has the name of a published key, and is another. */
let forger: SigningKey;
beforeAll(async () => {
  rs256 = await signingKey("RS256", "rsa-1");
  es256 = await signingKey("ES256", "ec-1");
  forger = await signingKey("RS256", "rsa-1");
});

let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
  issuer.publish(rs256, es256);
});
afterEach(() => issuer.stop());

const echo = defineTool({
  name: "echo",
  description: "Gives its arguments back, as a task.",
  input: { type: "object" },
  task: "required",
  run: (args) => JSON.stringify(args),
});

const serveWithOAuth = (over: Parameters<typeof serve>[1] = {}): Promise<Served> =>
  serve([echo], { ...over, config: { oauth: issuer.oauth, ...over.config } });

const list = (served: Served, token: string, headers = {}): Promise<Response> =>
  served.send("tools/list", {}, { token, headers });

const statusOf = async (served: Served, token: string): Promise<number> => (await list(served, token)).status;

/** Who the server takes the bearer of the token for, at a time that the test sets. */
function authenticate(token: string, now = Date.now()): Promise<Authenticated> {
  const settings = { tokens: null, oauth: issuer.oauth, allowAnonymous: true };
  const headers = { Authorization: `Bearer ${token}` };
  const request = new Request("https://holdfast.example/mcp", { headers });
  return authenticator(settings, { clock: () => now })(request, { path: "/mcp", scopes: ["client"] });
}

describe("an access token", () => {
  it("says by its issuer and subject who calls, and until when", async () => {
    const exp = Math.floor(Date.now() / 1000) + 600;
    expect(await authenticate(await signed(rs256, issuer.url, { exp }))).toEqual({
      kind: "principal",
      principal: {
        kind: "identified",
        issuer: issuer.url,
        subject: "ann",
        scopes: ["client"],
        expiresAt: (exp + 30) * 1000,
      },
    });
  });

  it.each(["RS256", "PS384", "ES256", "ES512", "EdDSA", "Ed25519"])("may be signed with %s", async (alg) => {
    const key = await signingKey(alg, "its own");
    issuer.publish(rs256, key);
    expect(await authenticate(await signed(key, issuer.url))).toMatchObject({ principal: { subject: "ann" } });
  });

  it("may be for several audiences", async () => {
    const aud = ["https://other.example", AUDIENCE];
    expect(await authenticate(await signed(es256, issuer.url, { aud }))).toMatchObject({ kind: "principal" });
  });

  it.each<[JWTPayload, readonly string[] | 403]>([
    [{}, ["client"]],
    [{ scope: "holdfast:client" }, ["client"]],
    [{ scope: "openid holdfast:worker holdfast:client" }, ["client", "worker"]],
    [{ scope: "holdfast:admin" }, ["admin"]],
    [{ scp: ["holdfast:client"] }, ["client"]],
    [{ scp: "openid holdfast:client" }, ["client"]],
    [{ scope: "openid", scp: ["holdfast:client"] }, ["client"]],
    [{ scope: "holdfast:worker" }, 403],
    [{ scope: "" }, 403],
    [{ scope: "client admin" }, 403],
    [{ scope: "HOLDFAST:CLIENT" }, 403],
    [{ scope: null, scp: 7 }, 403],
    [{ scp: [] }, 403],
  ])("with %j has the scopes %j", async (claims, scopes) => {
    const answer = await authenticate(await signed(es256, issuer.url, claims));
    if (scopes === 403) expect(answer).toMatchObject({ kind: "refused", status: 403 });
    else expect(answer).toMatchObject({ kind: "principal", principal: { scopes } });
  });

  it("is taken thirty seconds before its time and after, and no longer", async () => {
    const now = 1_800_000_000_000;
    const at = (claims: JWTPayload) => signed(es256, issuer.url, { exp: now / 1000 + 60, ...claims });
    const kindOf = async (claims: JWTPayload) => (await authenticate(await at(claims), now)).kind;
    expect(await kindOf({ nbf: now / 1000 + 30 })).toBe("principal");
    expect(await kindOf({ nbf: now / 1000 + 31 })).toBe("refused");
    expect(await kindOf({ exp: now / 1000 - 29 })).toBe("principal");
    expect(await kindOf({ exp: now / 1000 - 30 })).toBe("refused");
  });

  it("is taken beside static tokens, and each is its own owner", async () => {
    const served = await serveWithOAuth({ owners: ["ann"] });
    const theirs = await signed(rs256, issuer.url, { sub: "ann" });
    const options = { capabilities: withTasks };
    const { taskId } = (await served.tool("echo", {}, { ...options, token: "ann" })).result;
    expect((await served.call("tasks/get", { taskId }, { ...options, token: "ann" })).result.taskId).toBe(taskId);
    expect((await served.call("tasks/get", { taskId }, { ...options, token: theirs })).error.code).toBe(-32602);
  });

  it("shuts anonymous callers out, on this machine too", async () => {
    const served = await serveWithOAuth({ config: { allowAnonymous: true } });
    expect((await served.send("tools/list")).status).toBe(401);
  });
});

/** Tokens that are wrong in one respect each. */
const WRONG: Readonly<Record<string, () => Promise<string>>> = {
  "of another issuer": () => signed(rs256, "https://evil.example"),
  "of an issuer spelled otherwise": () => signed(rs256, `${issuer.url}/`),
  "of no issuer": () => signed(rs256, issuer.url, { iss: undefined as never }),
  "for another audience": () => signed(rs256, issuer.url, { aud: "https://holdfast.example/" }),
  "for other audiences": () => signed(rs256, issuer.url, { aud: ["https://holdfast.example", `${AUDIENCE}/x`] }),
  "for no audience": () => signed(rs256, issuer.url, { aud: undefined as never }),
  "for an empty list of audiences": () => signed(rs256, issuer.url, { aud: [] }),
  "that never expires": () => signed(rs256, issuer.url, { exp: undefined as never }),
  "that expires at a word": () => signed(rs256, issuer.url, { exp: "tomorrow" as never }),
  "that has expired": () => signed(rs256, issuer.url, { exp: Math.floor(Date.now() / 1000) - 60 }),
  "that is not valid yet": () => signed(rs256, issuer.url, { nbf: Math.floor(Date.now() / 1000) + 60 }),
  "without a subject": () => signed(rs256, issuer.url, { sub: undefined as never }),
  "with an empty subject": () => signed(rs256, issuer.url, { sub: "" }),
  "with a number for a subject": () => signed(rs256, issuer.url, { sub: 7 as never }),
  "with an endless subject": () => signed(rs256, issuer.url, { sub: "x".repeat(256) }),
  "signed by another key of the same name": () => signed(forger, issuer.url),
  "signed by a key that is not published": () => signed({ ...forger, kid: "rsa-9" }, issuer.url),
  "that brings its own key": () => signed({ ...forger, kid: "x" }, issuer.url, {}, { jwk: forger.jwk }),
  "that says where its key is": () => signed({ ...forger, kid: "x" }, issuer.url, {}, { jku: `${issuer.url}/keys` }),
  "with an extension nobody knows": () => byHand({ crit: ["x"], x: 1 }, encoded(claims())),
  "with an unencoded payload": () =>
    byHand({ crit: ["b64"], b64: false }, JSON.stringify(claims()).replaceAll(".", "\\u002e")),
  "whose payload is a list": () => byHand({}, encoded([claims()])),
  "whose payload is no JSON": () => byHand({}, "AAAA"),
  "whose payload was changed": async () => {
    const [header, , signature] = (await signed(rs256, issuer.url)).split(".");
    return `${header}.${encoded({ ...claims(), sub: "root" })}.${signature}`;
  },
  "whose signature is gone": async () => (await signed(rs256, issuer.url)).replace(/[^.]+$/, ""),
  "without a signature (alg none)": async () =>
    new UnsecuredJWT({}).setIssuer(issuer.url).setAudience(AUDIENCE).setSubject("ann").setExpirationTime("1h").encode(),
  "signed with the public key for a secret (PEM)": async () =>
    withSecret(await exportSPKI((await importJWK(rs256.jwk, "RS256")) as CryptoKey)),
  "signed with the public key for a secret (JWK)": () => withSecret(JSON.stringify(rs256.jwk)),
  "signed with nothing for a secret": () => withSecret("\0".repeat(32)),
  "that is encrypted": async () =>
    new CompactEncrypt(new TextEncoder().encode("{}"))
      .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: "rsa-1" })
      .encrypt(new Uint8Array(32)),
  "of random letters": async () => "zGnq0cVt7o",
  "of three parts that are nothing": async () => "a.b.c",
  "of dots": async () => "..",
  "of a list for a header": async () => `${encoded([])}.${encoded({})}.AAAA`,
};

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const claims = () => ({ iss: issuer.url, aud: AUDIENCE, sub: "ann", exp: 4_000_000_000 });

/** Signed as it should be, whatever is signed. */
async function byHand(header: object, payload: string): Promise<string> {
  const input = `${encoded({ alg: "RS256", kid: "rsa-1", ...header })}.${payload}`;
  const bytes = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", rs256.privateKey, new TextEncoder().encode(input));
  return `${input}.${Buffer.from(bytes).toString("base64url")}`;
}

const withSecret = (secret: string): Promise<string> =>
  new SignJWT(claims()).setProtectedHeader({ alg: "HS256", kid: "rsa-1" }).sign(new TextEncoder().encode(secret));

describe("a wrong credential", () => {
  it("is never better than none: every kind gets the same bytes and reaches nothing (F02)", async () => {
    const served = await serveWithOAuth({ owners: ["static"] });
    const ask = (authorization: string | null) =>
      served.send("tasks/get", { taskId: "x" }, { capabilities: withTasks, headers: { Authorization: authorization } });
    const bytesOf = async (response: Response) =>
      JSON.stringify([response.status, [...response.headers].sort(), await response.text()]);

    const none = await ask(null);
    const expected = await bytesOf(none.clone() as Response);
    expect(none.status).toBe(401);
    expect(none.headers.get("www-authenticate")).toBe(
      `Bearer realm="holdfast", scope="holdfast:client", resource_metadata="http://localhost${METADATA}"`,
    );
    for (const header of ["", "Bearer", "Bearer ", "Bearer x", "Basic YTpi", "Bearer static static"])
      expect(await bytesOf(await ask(header)), header).toBe(expected);
    for (const [kind, make] of Object.entries(WRONG))
      expect(await bytesOf(await ask(`Bearer ${await make()}`)), kind).toBe(expected);

    // What they are compared with does reach the tasks.
    for (const right of ["static", await signed(rs256, issuer.url), await byHand({}, encoded(claims()))])
      expect((await ask(`Bearer ${right}`)).status).toBe(200);
    expect(JSON.stringify(served.log)).not.toContain("Bearer");
  });

  it("is refused whatever is wrong, without the issuer being asked for more than its keys", async () => {
    const served = await serveWithOAuth();
    for (const make of Object.values(WRONG)) expect(await statusOf(served, await make())).toBe(401);
    expect(issuer.asked()).toBe(1);
  });
});

describe("a token with too small a scope", () => {
  it("gets 403, and is told which scope is needed and where to get it", async () => {
    const served = await serveWithOAuth();
    const response = await list(served, await signed(rs256, issuer.url, { scope: "openid holdfast:worker" }));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer realm="holdfast", error="insufficient_scope", scope="holdfast:client", ` +
        `resource_metadata="http://localhost${METADATA}"`,
    );
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining("holdfast:client") } });
  });
});

describe("the issuer's keys", () => {
  const FRESH_MS = 600_000;
  const COOLDOWN_MS = 30_000;

  it("are fetched once, by whichever requests come first", async () => {
    const served = await serveWithOAuth();
    const token = await signed(rs256, issuer.url);
    expect(issuer.asked()).toBe(0);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(served, token)));
    expect([...new Set(statuses)]).toEqual([200]);
    expect(await statusOf(served, await signed(es256, issuer.url))).toBe(200);
    expect(issuer.asked()).toBe(1);
  });

  it("rotate: a new key is taken at its first use, an old one refused once it is withdrawn", async () => {
    const served = await serveWithOAuth();
    const old = await signed(rs256, issuer.url, { exp: 4_000_000_000 });
    expect(await statusOf(served, old)).toBe(200);

    const next = await signingKey("RS256", "rsa-2");
    issuer.publish(rs256, next);
    served.advance(COOLDOWN_MS);
    const fresh = await signed(next, issuer.url, { exp: 4_000_000_000 });
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(served, fresh)));
    expect([...new Set(statuses)]).toEqual([200]);
    expect(issuer.asked()).toBe(2);
    expect(await statusOf(served, old)).toBe(200);

    issuer.publish(next);
    served.advance(FRESH_MS);
    expect(await statusOf(served, fresh)).toBe(200);
    expect(await statusOf(served, old)).toBe(401);
    expect(await statusOf(served, fresh)).toBe(200);
  });

  it("are each tried for a token that does not say which of two it is signed with", async () => {
    const next = await signingKey("RS256", "rsa-2");
    issuer.publish(rs256, next);
    const served = await serveWithOAuth();
    for (const key of [rs256, next]) {
      expect(await statusOf(served, await signed(key, issuer.url, {}, { kid: undefined as never }))).toBe(200);
    }
    expect(await statusOf(served, await signed(forger, issuer.url, {}, { kid: undefined as never }))).toBe(401);
  });

  it("are not asked for at every unknown name", async () => {
    const served = await serveWithOAuth();
    expect(await statusOf(served, await signed(rs256, issuer.url))).toBe(200);
    for (let round = 1; round <= 3; round++) {
      for (let n = 0; n < 5; n++)
        expect(await statusOf(served, await signed({ ...forger, kid: `k${n}` }, issuer.url))).toBe(401);
      expect(issuer.asked()).toBe(round);
      served.advance(COOLDOWN_MS);
    }
  });

  it("go on being used while the issuer is down, and are renewed when it is back", async () => {
    const served = await serveWithOAuth();
    const old = await signed(rs256, issuer.url, { exp: 4_000_000_000 });
    expect(await statusOf(served, old)).toBe(200);
    issuer.goDown();
    for (let hour = 0; hour < 3; hour++) {
      served.advance(3_600_000);
      expect(await statusOf(served, old)).toBe(200);
    }
    expect(issuer.asked()).toBe(4);
    expect(JSON.stringify(served.log)).toContain("AUTH_JWKS_URL");
    issuer.publish(es256);
    issuer.comeBack();
    served.advance(5_000);
    expect(await statusOf(served, old)).toBe(401);
  });

  it("cannot be had: 503 and when to try again, since the token may be right", async () => {
    const served = await serveWithOAuth({ owners: ["static"] });
    issuer.goDown();
    const token = await signed(rs256, issuer.url);
    for (let n = 0; n < 5; n++) {
      const response = await list(served, token);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await response.json()).toMatchObject({ error: { code: -32603 } });
    }
    expect(issuer.asked()).toBe(1);
    // What is wrong whatever the keys are is refused; what needs none is taken.
    expect(await statusOf(served, "random")).toBe(401);
    expect(await statusOf(served, await withSecret("x".repeat(32)))).toBe(401);
    expect(await statusOf(served, "static")).toBe(200);
    issuer.comeBack();
    served.advance(5_000);
    expect(await statusOf(served, token)).toBe(200);
  });

  it("cannot be renewed: a token of an unknown key may be right too, and one of a known key is", async () => {
    const served = await serveWithOAuth();
    const known = await signed(rs256, issuer.url, { exp: 4_000_000_000 });
    expect(await statusOf(served, known)).toBe(200);
    issuer.goDown();
    served.advance(COOLDOWN_MS);
    const next = await signingKey("RS256", "rsa-2");
    const unknown = await signed(next, issuer.url, { exp: 4_000_000_000 });
    expect(await statusOf(served, unknown)).toBe(503);
    expect(await statusOf(served, known)).toBe(200);
    issuer.publish(rs256, next);
    issuer.comeBack();
    served.advance(5_000);
    expect(await statusOf(served, unknown)).toBe(200);
  });
});
