import { describe, expect, it } from "vitest";
import { parseEnv, settings } from "../src/env";
import { TaskError } from "../src/task/errors";

const SETTINGS = settings();
const SHA = "a".repeat(64);
const entry = (over: object = {}) => ({ sha256: SHA, subject: "ann", scopes: ["client"], ...over });

function faultOf(env: Readonly<Record<string, unknown>>): string {
  try {
    parseEnv(env);
  } catch (error) {
    expect(error).toBeInstanceOf(TaskError);
    expect((error as TaskError).code).toBe("misconfigured");
    return (error as TaskError).message;
  }
  throw new Error("parseEnv accepted it");
}

describe("parseEnv", () => {
  it("refuses lenient scoping where anonymous callers are let in", () => {
    const AUTH_TOKENS = JSON.stringify([entry()]);
    expect(parseEnv({ TASK_SCOPING: "lenient", AUTH_TOKENS }).limits.scoping).toBe("lenient");
    expect(faultOf({ TASK_SCOPING: "lenient" })).toMatch(/TASK_SCOPING must be strict where anonymous/);
    expect(faultOf({ TASK_SCOPING: "lenient", AUTH_TOKENS, ALLOW_ANONYMOUS: "true" })).toMatch(/TASK_SCOPING/);
    expect(faultOf({ TASK_SCOPING: "loose", AUTH_TOKENS })).toMatch(/TASK_SCOPING must be "strict" or "lenient"/);
  });

  it("needs no configuration", () => {
    expect(parseEnv({})).toEqual({
      limits: {
        ttlMs: 86_400_000,
        minTtlMs: 60_000,
        maxTtlMs: 2_592_000_000,
        retentionMs: 604_800_000,
        pollIntervalMs: 1_000,
        timeoutMs: 600_000,
        maxAttempts: 3,
        maxRestarts: 20,
        questionTtlMs: 604_800_000,
        reservationMs: 30_000,
        maxTasksPerOwner: 10_000,
        maxLiveTasksPerOwner: 1_000,
        createsPerMinute: 600,
        pollBurst: 120,
        maxStreamsPerOwner: 50,
        scoping: "strict",
        resultLimitBytes: 10_485_760,
      },
      store: "durable",
      maxBodyBytes: 4_194_304,
      maxJsonDepth: 64,
      sweepBudget: 1_000,
      inlineWaitMs: 45_000,
      a2a: { blockMs: 300_000, legacy: true },
      allowedOrigins: [],
      allowAnonymous: false,
      allowLocalFetch: false,
      tokens: null,
      oauth: null,
      sealingKey: null,
      remoteTools: [],
      namespaces: [
        { name: "default", kind: "task", owners: "separate", zeroTtl: "expires", list: true, revisions: 20 },
        { name: "documents", kind: "document", owners: "separate", zeroTtl: "expires", list: true, revisions: 20 },
      ],
    });
  });

  it("reads every setting", () => {
    const config = parseEnv({
      TASK_TTL_MS: "unlimited",
      TASK_MIN_TTL_MS: "11",
      TASK_MAX_TTL_MS: "unlimited",
      TASK_RETENTION_MS: "12",
      TASK_POLL_INTERVAL_MS: "250",
      TASK_TIMEOUT_MS: "840000",
      TASK_MAX_ATTEMPTS: "1",
      TASK_MAX_RESTARTS: "0",
      QUESTION_TTL_MS: "13",
      RESERVATION_MS: "1400",
      TASK_STORE: "memory",
      TASK_SCOPING: "strict",
      MAX_TASKS_PER_OWNER: "15",
      MAX_LIVE_TASKS_PER_OWNER: "16",
      CREATES_PER_MINUTE: "61",
      POLL_BURST: "62",
      MAX_STREAMS_PER_OWNER: "63",
      MAX_BODY_BYTES: "1700",
      RESULT_LIMIT_BYTES: "15728640",
      MAX_JSON_DEPTH: "18",
      SWEEP_BUDGET: "19",
      INLINE_WAIT_MS: "0",
      A2A_BLOCK_MS: "0",
      A2A_LEGACY: "false",
      ALLOWED_ORIGINS: "https://App.example/, http://localhost:3000",
      ALLOW_ANONYMOUS: "true",
      ALLOW_LOCAL_FETCH: "true",
      AUTH_TOKENS: JSON.stringify([
        entry(),
        entry({ sha256: "B".repeat(64), subject: "root", scopes: ["worker", "admin"] }),
      ]),
      AUTH_ISSUER: "https://login.example/Realm/",
      AUTH_AUDIENCE: "https://holdfast.example/mcp",
      AUTH_JWKS_URL: "https://login.example/keys",
      SEALING_KEY: "0123456789abcdef0123456789abcdef",
      STORE_NAMESPACES:
        '[{ "name": "n", "kind": "document", "owners": "none", "zeroTtl": "never", "list": false, "revisions": 3 }]',
      REMOTE_TOOLS: '[{ "name": "t", "description": "Works.", "inputSchema": { "type": "object" }, "queue": "q" }]',
    });
    expect(config).toEqual({
      limits: {
        ttlMs: null,
        minTtlMs: 11,
        maxTtlMs: null,
        retentionMs: 12,
        pollIntervalMs: 250,
        timeoutMs: 840_000,
        maxAttempts: 1,
        maxRestarts: 0,
        questionTtlMs: 13,
        reservationMs: 1_400,
        maxTasksPerOwner: 15,
        maxLiveTasksPerOwner: 16,
        createsPerMinute: 61,
        pollBurst: 62,
        maxStreamsPerOwner: 63,
        scoping: "strict",
        resultLimitBytes: 15_728_640,
      },
      store: "memory",
      maxBodyBytes: 1_700,
      maxJsonDepth: 18,
      sweepBudget: 19,
      inlineWaitMs: 0,
      a2a: { blockMs: 0, legacy: false },
      allowedOrigins: ["https://app.example", "http://localhost:3000"],
      allowAnonymous: true,
      allowLocalFetch: true,
      tokens: [entry(), { sha256: "b".repeat(64), subject: "root", scopes: ["worker", "admin"] }],
      oauth: {
        issuer: "https://login.example/Realm/",
        audience: "https://holdfast.example/mcp",
        jwksUrl: "https://login.example/keys",
      },
      sealingKey: "0123456789abcdef0123456789abcdef",
      namespaces: [{ name: "n", kind: "document", owners: "none", zeroTtl: "never", list: false, revisions: 3 }],
      remoteTools: [{ name: "t", description: "Works.", inputSchema: { type: "object" }, queue: "q" }],
    });
  });

  it.each([
    ["STORE_NAMESPACES", '[{ "name": "a" }, { "name": "a" }]'],
    ["STORE_NAMESPACES", '[{ "name": "a/b" }]'],
    ["STORE_NAMESPACES", '[{ "name": "a", "owners": "everybody" }]'],
    ["STORE_NAMESPACES", '[{ "name": "a", "revision": 3 }]'],
    ["STORE_NAMESPACES", "default"],
    ["REMOTE_TOOLS", '[{ "name": "t", "description": "Works.", "inputSchema": { "type": "object" } }]'],
    ["REMOTE_TOOLS", '[{ "name": "t", "description": "", "inputSchema": {}, "queue": "q" }]'],
    ["REMOTE_TOOLS", '[{ "name": "t", "description": "d", "inputSchema": {}, "queue": "q", "task": "forbidden" }]'],
  ])("refuses %s = %s, naming the variable", (name, value) => {
    expect(() => parseEnv({ [name]: value })).toThrow(name);
  });

  it("takes blank values for unset, and lets bindings and unknown variables be", () => {
    const blank = Object.fromEntries(SETTINGS.map(({ name }) => [name, "  "]));
    expect(parseEnv({ ...blank, TASKS: { get() {} }, HOME: "/root", TASK_TTL: "-1" })).toEqual(parseEnv({}));
  });

  it("takes the numbers, booleans and lists of wrangler.toml", () => {
    expect(parseEnv({ MAX_JSON_DEPTH: 32, ALLOW_ANONYMOUS: true, AUTH_TOKENS: [entry()] })).toMatchObject({
      maxJsonDepth: 32,
      allowAnonymous: true,
      tokens: [entry()],
    });
  });
});

describe("a bad setting", () => {
  it("is refused by name, with what it wants and what it got", () => {
    expect(faultOf({ TASK_TTL_MS: "-5" })).toBe(
      'TASK_TTL_MS must be a whole number of milliseconds from 1 to 3153600000000, or "unlimited"; it is "-5".',
    );
    expect(faultOf({ TASK_STORE: "redis:x" })).toBe('TASK_STORE must be "durable" or "memory"; it is "redis:x".');
  });

  it.each([
    ["TASK_TTL_MS", ["0", "1.5", "1e3", "0x10", "Infinity", "never", "3153600000001", "9".repeat(40)]],
    ["TASK_MIN_TTL_MS", ["0", "unlimited"]],
    ["TASK_MAX_TTL_MS", ["0", "UNLIMITED"]],
    ["TASK_RETENTION_MS", ["0", "unlimited"]],
    ["TASK_POLL_INTERVAL_MS", ["249", "86400001"]],
    ["TASK_TIMEOUT_MS", ["0", "840001"]],
    ["TASK_MAX_ATTEMPTS", ["0", "1001"]],
    ["TASK_MAX_RESTARTS", ["-1", "1001"]],
    ["QUESTION_TTL_MS", ["0", "unlimited"]],
    ["RESERVATION_MS", ["999", "3600001"]],
    ["TASK_STORE", ["Durable", "kv", {}]],
    ["MAX_TASKS_PER_OWNER", ["0", "10000001"]],
    ["MAX_LIVE_TASKS_PER_OWNER", ["0", "10000001"]],
    ["CREATES_PER_MINUTE", ["0", "1000001"]],
    ["POLL_BURST", ["9", "1000001"]],
    ["MAX_STREAMS_PER_OWNER", ["0", "10001"]],
    ["MAX_BODY_BYTES", ["1023", "25165825"]],
    ["RESULT_LIMIT_BYTES", ["1023", "25165825", "10MB"]],
    ["MAX_JSON_DEPTH", ["7", "513"]],
    ["SWEEP_BUDGET", ["9", "10001"]],
    ["ALLOWED_ORIGINS", ["*", "null", "app.example", "https://a.example/x", "https://a.example,,https://b.example"]],
    ["ALLOW_ANONYMOUS", ["yes", "1", "TRUE"]],
    ["ALLOW_LOCAL_FETCH", ["on", "0"]],
    ["AUTH_TOKENS", ["oops", "{}", "[]", "[1]"]],
    ["AUTH_ISSUER", ["login.example", "ftp://login.example", "https://login.example?a", "https://login.example#a"]],
    ["AUTH_AUDIENCE", ["a", "two words", "x".repeat(1025)]],
    ["AUTH_JWKS_URL", ["/keys", "file:///keys", "https://", "https://login.example/keys?a"]],
    ["SEALING_KEY", ["short", "x".repeat(31)]],
  ] as const)("%s refuses %j", (name, values) => {
    for (const value of values)
      expect(faultOf({ [name]: value }), String(value)).toMatch(new RegExp(`^${name} must be `));
  });

  it("is told together with the others", () => {
    const fault = faultOf({ TASK_TTL_MS: "-5", TASK_STORE: "redis:x", AUTH_TOKENS: "oops" });
    for (const name of ["TASK_TTL_MS", "TASK_STORE", "AUTH_TOKENS"]) expect(fault).toContain(name);
  });

  it("is repeated in part when it is long", () => {
    expect(faultOf({ TASK_STORE: "x".repeat(10_000) }).length).toBeLessThan(300);
  });

  it.each([
    ["not JSON", "hunter2-hunter2"],
    ["a plain token", [{ token: "hunter2-hunter2", subject: "ann", scopes: ["client"] }]],
    ["a token for its hash", [entry({ sha256: "hunter2-hunter2" })]],
    ["an empty subject", [entry(), entry({ sha256: "hunter2-hunter2", subject: "" })]],
    ["an unknown scope", [entry({ scopes: ["client", "hunter2-hunter2"] })]],
    ["no scope", [entry({ scopes: [] })]],
    ["no scopes at all", [{ sha256: SHA, subject: "ann" }]],
    ["an unknown field", [entry({ "hunter2-hunter2": true })]],
    ["a token twice", [entry(), entry({ sha256: SHA.toUpperCase(), subject: "hunter2-hunter2" })]],
  ])("never shows a secret: AUTH_TOKENS with %s", (_, value) => {
    const fault = faultOf({ AUTH_TOKENS: typeof value === "string" ? value : JSON.stringify(value) });
    expect(fault).toMatch(/^AUTH_TOKENS must be a JSON list such as /);
    expect(fault).not.toContain("hunter2");
  });

  it("never shows a secret: SEALING_KEY", () => {
    expect(faultOf({ SEALING_KEY: "hunter2" })).not.toContain("hunter2");
  });

  it("says where in AUTH_TOKENS it is", () => {
    expect(faultOf({ AUTH_TOKENS: JSON.stringify([entry(), entry({ sha256: "b" })]) })).toMatch(
      /it is not, at 1\.sha256\.$/,
    );
  });
});

describe("the settings of OAuth", () => {
  const all = {
    AUTH_ISSUER: "https://login.example",
    AUTH_AUDIENCE: "holdfast",
    AUTH_JWKS_URL: "https://login.example/keys",
  };
  const names = Object.keys(all) as (keyof typeof all)[];

  it("go together: what is missing is named", () => {
    for (const name of names) {
      const others = names.filter((other) => other !== name);
      const without = faultOf({ ...all, [name]: "" });
      expect(without).toMatch(new RegExp(`^${name} is missing; `));
      const alone = faultOf({ [name]: all[name] });
      for (const other of others) expect(alone).toContain(`${other} is missing; `);
      expect(alone).not.toContain(`${name} is missing`);
    }
  });

  it.each(["AUTH_ISSUER", "AUTH_JWKS_URL"])("%s is plain http on this machine only, for development", (name) => {
    const local = { ...all, [name]: "http://127.0.0.1:9000/x" };
    expect(faultOf(local)).toMatch(new RegExp(`^${name} must be https; `));
    expect(() => parseEnv({ ...local, ALLOW_LOCAL_FETCH: "true" })).not.toThrow();
    const elsewhere = { ...all, [name]: "http://login.example/x", ALLOW_LOCAL_FETCH: "true" };
    expect(faultOf(elsewhere)).toMatch(new RegExp(`^${name} must be https; `));
  });
});

describe("the order of ttls", () => {
  it.each([
    [
      { TASK_MIN_TTL_MS: "2000", TASK_TTL_MS: "1000" },
      "TASK_MIN_TTL_MS must not be above TASK_TTL_MS; they are 2000 and 1000",
    ],
    [
      { TASK_TTL_MS: "2592000001" },
      "TASK_TTL_MS must not be above TASK_MAX_TTL_MS; they are 2592000001 and 2592000000",
    ],
    [{ TASK_TTL_MS: "unlimited" }, "TASK_TTL_MS must not be above TASK_MAX_TTL_MS; they are unlimited and 2592000000"],
  ])("refuses %j", (env, fault) => {
    expect(faultOf(env)).toContain(fault);
  });

  it("allows equal ones, and anything below unlimited", () => {
    expect(() => parseEnv({ TASK_MIN_TTL_MS: "5", TASK_TTL_MS: "5", TASK_MAX_TTL_MS: "5" })).not.toThrow();
    expect(() => parseEnv({ TASK_TTL_MS: "2592000001", TASK_MAX_TTL_MS: "unlimited" })).not.toThrow();
  });
});

describe("SETTINGS", () => {
  it("lists defaults that parseEnv accepts and uses", () => {
    const spelledOut = Object.fromEntries(SETTINGS.map(({ name, default: value }) => [name, value]));
    expect(parseEnv(spelledOut)).toEqual(parseEnv({}));
  });

  it("says in the error what it says in the list", () => {
    for (const { name, range } of SETTINGS) expect(faultOf({ [name]: "?" })).toContain(`${name} must be ${range}; `);
  });

  it("marks what is secret", () => {
    expect(SETTINGS.filter(({ secret }) => secret).map(({ name }) => name)).toEqual(["AUTH_TOKENS", "SEALING_KEY"]);
  });
});
