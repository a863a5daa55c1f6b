import { AgentCard } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { agentCard, extendedCard, SKILL_SCHEMAS_URI } from "../../src/a2a/card";
import { defineTool } from "../../src/tool/define-tool";
import type { Config } from "../../src/env";
import { ORIGIN, openDoor, type Wire } from "./a2a-door";

const input = (required: readonly string[]) => ({
  type: "object",
  properties: { text: { type: "string" }, n: { type: "integer" } },
  required: [...required],
});
const tools = [
  defineTool({
    name: "echo",
    title: "Echo",
    description: "Says it.",
    input: input(["text"]),
    task: "forbidden",
    run: () => "",
  }),
  defineTool({
    name: "sum",
    description: "Sums.",
    input: input(["n"]),
    output: { type: "object" },
    task: "optional",
    run: () => ({ content: [] }),
  }),
];
const oauth = { issuer: "https://login.example", audience: "x", jwksUrl: "https://login.example/keys" };
const ann = { kind: "identified", issuer: "i", subject: "ann", scopes: ["client"], expiresAt: null } as const;

const open = (config: Partial<Config> = {}, over: object = {}) => openDoor({}, { tools, config, ...over });
const PATH = "/.well-known/agent-card.json";
const cardOf = async (door: ReturnType<typeof open>, headers: Record<string, string> = {}): Promise<Wire> =>
  (await door.request(PATH, { headers })).json();

const legacyOff = { a2a: { blockMs: 0, legacy: false } };
const at = (protocolBinding: string, protocolVersion: string) => ({
  url: `${ORIGIN}/a2a`,
  protocolBinding,
  protocolVersion,
});

describe("the card of 1.0", () => {
  it("names the interfaces, in order of preference, as the server was addressed", async () => {
    const card = await cardOf(open(), { "A2A-Version": "1.0" });
    expect(card.supportedInterfaces).toEqual([at("JSONRPC", "1.0"), at("HTTP+JSON", "1.0"), at("JSONRPC", "0.3")]);
    const pure = await cardOf(open(legacyOff));
    expect(pure.supportedInterfaces).toEqual([at("JSONRPC", "1.0"), at("HTTP+JSON", "1.0")]);
  });

  it("has all that must be there, and nothing that 1.0 does not know", async () => {
    for (const card of [await cardOf(open(), { "A2A-Version": "1.0.2" }), await cardOf(open(legacyOff))]) {
      expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toEqual(card);
      for (const name of ["name", "description", "version"]) expect(card[name]).toMatch(/./);
      for (const name of ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"]) {
        expect(card[name].length).toBeGreaterThan(0);
      }
      expect(card.skills.every(({ tags }: Wire) => tags.length > 0)).toBe(true);
      expect(card.url).toBeUndefined();
    }
  });

  it("has a skill for each tool", async () => {
    const { skills } = await cardOf(open(), { "A2A-Version": "1.0" });
    expect(skills).toMatchObject([
      {
        id: "echo",
        name: "Echo",
        description: "Says it.",
        tags: ["reply"],
        inputModes: ["application/json", "text/plain"],
        outputModes: ["text/plain"],
      },
      {
        id: "sum",
        name: "sum",
        tags: ["task"],
        inputModes: ["application/json"],
        outputModes: ["application/json", "text/plain"],
      },
    ]);
  });

  it("promises what there is", async () => {
    const capabilitiesOf = async (door: ReturnType<typeof open>) =>
      (await cardOf(door, { "A2A-Version": "1.0" })).capabilities;
    expect(await capabilitiesOf(open())).toMatchObject({
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: false,
    });
    expect(await capabilitiesOf(open({ oauth }, { pushes: false }))).toMatchObject({
      pushNotifications: false,
      extendedAgentCard: true,
    });
  });

  it("says how to authenticate: any of the ways that are set", async () => {
    const { securitySchemes, securityRequirements } = await cardOf(open({ tokens: [], oauth }), {
      "A2A-Version": "1.0",
    });
    expect(securitySchemes).toMatchObject({
      token: { httpAuthSecurityScheme: { scheme: "Bearer" } },
      oauth: { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
    });
    expect(JSON.stringify(securitySchemes)).toContain("https://login.example");
    expect(securityRequirements).toEqual([{ schemes: { token: {} } }, { schemes: { oauth: {} } }]);
    const anonymous = await cardOf(open(), { "A2A-Version": "1.0" });
    expect([anonymous.securitySchemes, anonymous.securityRequirements]).toEqual([undefined, undefined]);
  });
});

describe("the card of 0.3", () => {
  it("is what its clients read", async () => {
    const card = await cardOf(open({ tokens: [] }), { "A2A-Version": "0.3" });
    expect(card).toMatchObject({
      url: `${ORIGIN}/a2a`,
      preferredTransport: "JSONRPC",
      protocolVersion: "0.3",
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: { token: { type: "http", scheme: "Bearer" } },
      security: [{ token: [] }],
      skills: [{ id: "echo" }, { id: "sum" }],
    });
    expect(card.supportedInterfaces).toBeUndefined();
  });

  it.each([{}, { "A2A-Version": "" }, { "A2A-Version": "9.9" }])(
    "is one with that of 1.0 for who says %j",
    async (headers) => {
      const card = await cardOf(open({ tokens: [] }), headers);
      const modern = await cardOf(open({ tokens: [] }), { "A2A-Version": "1.0" });
      const old = await cardOf(open({ tokens: [] }), { "A2A-Version": "0.3" });
      expect(card).toMatchObject(modern);
      expect(card).toMatchObject(old);
      expect(Object.keys(card).sort()).toEqual([...new Set([...Object.keys(modern), ...Object.keys(old)])].sort());
    },
  );

  it("is nobody's where 0.3 is not spoken", async () => {
    for (const headers of [{}, { "A2A-Version": "0.3" }] as Record<string, string>[]) {
      const card = await cardOf(open(legacyOff), headers);
      expect([card.url, card.protocolVersion]).toEqual([undefined, undefined]);
    }
  });
});

describe("the card's address", () => {
  it("is open to anybody, on any page", async () => {
    const door = open({ tokens: [] });
    const headers = { Origin: "https://anywhere.example", Authorization: "Bearer wrong" };
    const response = await door.request(PATH, { headers });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(response.headers.get("content-type")).toBe("application/json");
    const preflight = await door.request(PATH, { method: "OPTIONS", headers });
    expect([preflight.status, await preflight.text()]).toEqual([204, ""]);
    expect(preflight.headers.get("access-control-allow-headers")).toBe("*");
  });

  it("answers HEAD without a body, and nothing but reading", async () => {
    const door = open();
    const head = await door.request(PATH, { method: "HEAD" });
    expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([
      200,
      "",
      (await door.request(PATH)).headers.get("etag"),
    ]);
    const post = await door.request(PATH, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });

  it("lets a client keep the card, and ask whether it is still so", async () => {
    let now = 1_796_000_000_000;
    const door = open({}, { clock: () => now });
    const first = await door.request(PATH);
    expect(first.headers.get("cache-control")).toBe("public, max-age=300");
    expect(first.headers.get("vary")).toBe("A2A-Version");
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    const seen = first.headers.get("last-modified");
    expect(seen).toBe(new Date(now).toUTCString());
    now += 60_000;
    expect((await door.request(PATH)).headers.get("last-modified")).toBe(seen);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const again = await door.request(PATH, { headers: { "If-None-Match": tag } });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    const other = await door.request(PATH, { headers: { "If-None-Match": etag, "A2A-Version": "1.0" } });
    expect([other.status, other.headers.get("etag") === etag]).toEqual([200, false]);
  });

  it("keeps what went wrong to the log", async () => {
    const door = open();
    Object.assign(door.deps.tools, { list: () => Promise.reject(new Error("a secret detail")) });
    const response = await door.request(PATH);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect(JSON.stringify(door.log)).toContain("a secret detail");
  });
});

describe("the extended card", () => {
  it("has what it takes to call each skill", async () => {
    const { deps } = open({ tokens: [] });
    const card = await extendedCard(deps, ORIGIN, ann);
    const known = await agentCard(deps, ORIGIN);
    const [schemas, ...others] = (card.capabilities?.extensions ?? []).toReversed();
    expect(schemas).toMatchObject({
      uri: SKILL_SCHEMAS_URI,
      required: false,
      params: { echo: { input: input(["text"]) }, sum: { input: input(["n"]), output: { type: "object" } } },
    });
    const rest = { ...card, capabilities: { ...card.capabilities, extensions: others.toReversed() } };
    expect(rest).toEqual(known);
  });

  it("is refused where nobody has to say who they are", async () => {
    const { deps } = open();
    await expect(extendedCard(deps, ORIGIN, { kind: "anonymous" })).rejects.toMatchObject({ fault: "unsupported" });
  });

  it("is what each binding answers", async () => {
    const { deps } = open({ tokens: [] });
    const card = () => extendedCard(deps, ORIGIN, ann);
    const door = openDoor({ getAuthenticatedExtendedAgentCard: card });
    const rest = (await (await door.request("/a2a/extendedAgentCard")).json()) as Wire;
    expect(rest.capabilities.extensions.at(-1).params.echo.input).toEqual(input(["text"]));
    expect((await door.call("GetExtendedAgentCard")).result).toEqual(rest);
    const old = await door.call("agent/getAuthenticatedExtendedCard", undefined, { "A2A-Version": null });
    expect(old.result).toMatchObject({ url: `${ORIGIN}/a2a`, skills: [{ id: "echo" }, { id: "sum" }] });
  });
});
