import { beforeAll, describe, expect, it } from "vitest";
import { operationsOf } from "../../src/store-api/routes";
import { CALLERS, serveStore, type StoreServed } from "../support/store";

let served: StoreServed;
beforeAll(async () => {
  served = await serveStore();
});

const DEFAULT = "/namespaces/default/records";
const STRICT = "/namespaces/strict/records";

/** An address of each operation, and a body that reaches it. */
const requests = (): readonly { method: string; path: string; body?: object; opens: string }[] =>
  operationsOf(served.deps).map(({ method, path, hasBody, opens }) => ({
    method,
    path: path.replaceAll(/:(\w+)/g, (_, name) => (name === "namespace" ? "default" : "x")),
    ...(hasBody ? { body: {} } : {}),
    opens,
  }));

describe("a caller", () => {
  it("who is unknown gets 401 and a challenge at every operation, the same for a wrong credential as for none (F02)", async () => {
    for (const { method, path, body } of requests()) {
      const answers = [];
      for (const authorization of [null, "", "Bearer", "Bearer wrong", "Basic YTpi", "wendy"]) {
        const { status, text, headers } = await served.call(method, path, {
          as: null,
          body,
          headers: { Authorization: authorization },
        });
        answers.push(JSON.stringify([status, text, headers.get("www-authenticate")]));
      }
      expect(new Set(answers).size, `${method} ${path}`).toBe(1);
      expect(answers[0]).toContain("unauthenticated");
      expect(answers[0]).toContain('Bearer realm=\\"holdfast\\"');
    }
  });

  it("needs the scope of the operation, and is told which", async () => {
    for (const { method, path, body, opens } of requests()) {
      const { status, body: answer, headers } = await served.call(method, path, { as: "ann", body });
      if (opens === "known") {
        expect(status, `${method} ${path}`).not.toBe(403);
        continue;
      }
      expect([status, answer.error?.code], `${method} ${path}`).toEqual([403, "insufficient_scope"]);
      const wanted = opens === "keepers" ? "holdfast:admin" : "holdfast:worker";
      expect(headers.get("www-authenticate")).toBe(
        `Bearer realm="holdfast", error="insufficient_scope", scope="${wanted}"`,
      );
    }
  });

  it("who may everything is let in everywhere", async () => {
    for (const { method, path, body } of requests()) {
      const { status } = await served.call(method, path, { as: "root", body });
      expect([401, 403], `${method} ${path}`).not.toContain(status);
    }
  });
});

describe("owners", () => {
  it("have ids of their own, and read each other's as missing, byte for byte (F03)", async () => {
    await served.call("POST", DEFAULT, { as: "ann", body: { id: "hers", document: { a: 1 } } });
    const paths: readonly (readonly [string, string, object?])[] = [
      ["GET", ""],
      ["PUT", "", { document: {} }],
      ["PATCH", "", { document: {} }],
      ["DELETE", ""],
      ["PUT", "/status", { status: "failed" }],
      ["PUT", "/questions", { inputRequests: { q: 1 } }],
      ["POST", "/responses", { inputResponses: { q: 1 } }],
      ["POST", "/cancel"],
      ["GET", "/events"],
    ];
    for (const [method, below, body] of paths) {
      const seen = [];
      for (const id of ["hers", "nobodys"]) {
        const { status, text, headers } = await served.call(method, `${DEFAULT}/${id}${below}`, { as: "bob", body });
        seen.push(JSON.stringify([status, text, [...headers].sort()]));
      }
      expect(seen[0], `${method} ${below}`).toBe(seen[1]);
    }
    expect((await served.call("GET", `${DEFAULT}/hers`, { as: "ann" })).body).toMatchObject({ version: 1 });
    expect((await served.call("POST", DEFAULT, { as: "bob", body: { id: "hers" } })).status).toBe(201);
  });

  it("are named by workers and admins, and by nobody else", async () => {
    const owner = encodeURIComponent('["holdfast:token","ann"]');
    await served.call("POST", DEFAULT, { as: "ann", body: { id: "named" } });
    for (const as of ["wendy", "root"]) {
      expect((await served.call("GET", `${DEFAULT}/named?owner=${owner}`, { as })).status).toBe(200);
      expect((await served.call("GET", `${DEFAULT}/named`, { as })).status).toBe(404);
    }
    for (const query of [`owner=${owner}`, "any=true", "unowned=true"]) {
      const { status, body } = await served.call("GET", `${DEFAULT}/named?${query}`, { as: "bob" });
      expect([status, body.error.code], query).toEqual([403, "insufficient_scope"]);
    }
  });

  it("see by the rule of the namespace: only the very owner, or any (B5)", async () => {
    const as = "wendy";
    await served.call("POST", `${STRICT}?owner=a`, { as, body: { id: "of-a" } });
    await served.call("POST", `${STRICT}?unowned=true`, { as, body: { id: "of-nobody" } });
    const statusOf = async (id: string, query: string) =>
      (await served.call("GET", `${STRICT}/${id}${query}`, { as })).status;
    expect(await statusOf("of-a", "?owner=a")).toBe(200);
    expect(await statusOf("of-a", "?any=true")).toBe(200);
    for (const query of ["", "?unowned=true", "?owner=b"]) expect(await statusOf("of-a", query), query).toBe(404);
    for (const query of ["", "?unowned=true"]) expect(await statusOf("of-nobody", query), query).toBe(200);
    expect(await statusOf("of-nobody", "?owner=a")).toBe(404);
  });

  it("are named one at a time", async () => {
    for (const query of ["owner=a&any=true", "unowned=true&any=true", "owner=a&unowned=true"]) {
      expect((await served.call("GET", `${STRICT}/x?${query}`, { as: "wendy" })).status, query).toBe(400);
    }
    for (const query of ["owner=", "any=yes", "unowned=false", "any", "owner=a&owner=b"]) {
      expect((await served.call("GET", `${STRICT}/x?${query}`, { as: "wendy" })).status, query).toBe(400);
    }
  });
});

describe("a namespace", () => {
  it("that is closed to clients reads as one that does not exist (B3)", async () => {
    const seen = [];
    for (const name of ["strict", "unknown"]) {
      const { status, text } = await served.call("GET", `/namespaces/${name}/records/x`, { as: "ann" });
      seen.push([status, text]);
    }
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]?.[0]).toBe(404);
    expect(seen[0]?.[1]).not.toContain("record");
  });

  it("that has no list has none but for admins (B3)", async () => {
    expect((await served.call("GET", `${STRICT}?any=true`, { as: "wendy" })).status).toBe(404);
    expect((await served.call("GET", `${STRICT}?owner=a`, { as: "root" })).status).toBe(200);
  });
});

describe("without auth settings", () => {
  it("an anonymous caller on this machine may also be a worker, elsewhere a client at most", async () => {
    const { call } = await serveStore({ tokens: false, config: { allowAnonymous: true } });
    const body = { claimId: "c" };
    expect((await call("POST", "/queues/gpu/claims", { body })).body).toEqual({ claims: [] });
    expect((await call("POST", STRICT, { body: { id: "x" } })).status).toBe(201);
    const origin = "https://holdfast.example";
    expect((await call("POST", "/queues/gpu/claims", { body, origin })).status).toBe(403);
    expect((await call("POST", STRICT, { body: {}, origin })).status).toBe(404);
    expect((await call("POST", DEFAULT, { body: {}, origin })).status).toBe(201);
  });

  it("nobody is let in from elsewhere unless that is allowed", async () => {
    const { call } = await serveStore({ tokens: false });
    expect((await call("GET", DEFAULT, { origin: "https://holdfast.example" })).status).toBe(401);
    for (const headers of [{}, { Authorization: "Bearer wendy" }]) {
      expect((await call("GET", `${DEFAULT}/x`, { headers })).status).toBe("Authorization" in headers ? 401 : 404);
    }
  });
});

it("writes a line for what it refuses, and never what was presented", async () => {
  const { call, log } = await serveStore();
  await call("GET", `${DEFAULT}/x`, { as: "a-secret-token" });
  await call("GET", `${DEFAULT}/x?any=true`, { as: "bob" });
  await call("GET", `${DEFAULT}/x`, { as: "bob" });
  expect(log).toMatchObject([
    { audit: "refuse", code: "unauthenticated", status: 401 },
    { audit: "refuse", code: "insufficient_scope", status: 403 },
    { audit: "refuse", code: "not_found", status: 404, principal: '["holdfast:token","bob"]' },
  ]);
  expect(JSON.stringify(log)).not.toContain("a-secret-token");
  expect(Object.keys(CALLERS)).not.toContain("a-secret-token");
});
