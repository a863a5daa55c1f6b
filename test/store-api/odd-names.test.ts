// Names that mean something to a runtime or to a URL are names like any other, at every place where a caller may choose one.
import { describe, expect, it } from "vitest";
import { serveStore } from "../support/store";

const as = "wendy";
const NAMES = ["__proto__", "constructor", "toString", "then", "a b", "é\u0000"];

const question =
  '{"method":"elicitation/create","params":{"mode":"form","message":"M?","requestedSchema":{"type":"object","properties":{}}}}';

/** A worker that has a task. */
async function claimed() {
  const served = await serveStore();
  const taskId = await served.start();
  const { body } = await served.call("POST", "/queues/gpu/claims", { as, body: { claimId: "c", waitMs: 30_000 } });
  return { ...served, taskId, lease: body.claims[0].lease as string };
}

describe.each(NAMES)("the name %j", (name) => {
  it("may be the key of a question of a worker", async () => {
    const { call, taskId, lease } = await claimed();
    const text = `{"lease":"${lease}","questions":{${JSON.stringify(name)}:${question},"b":${question}}}`;
    const { status, body } = await call("POST", `/work/${taskId}/ask`, { as, text });
    expect([status, body.openQuestions.map(({ key }: { key: string }) => key).sort()]).toEqual([
      200,
      [name, "b"].sort(),
    ]);
  });

  it("may be the id of a record, its owner, and a member of all that is kept in it", async () => {
    const { call } = await serveStore();
    const query = `?owner=${encodeURIComponent(name)}`;
    const members = `{${JSON.stringify(name)}:{"n":1.0}}`;
    const text = `{"id":${JSON.stringify(name)},"document":${members},"task":{"inputRequests":${members},"result":${members}}}`;
    const made = await call("POST", `/namespaces/strict/records${query}`, { as, text });
    expect([made.status, made.body.id, made.body.owner]).toEqual([201, name, name]);
    const read = await call("GET", `/namespaces/strict/records/${encodeURIComponent(name)}${query}`, { as });
    expect(read.text.split(members)).toHaveLength(4);
    const { text: log } = await call("GET", `/namespaces/strict/records/${encodeURIComponent(name)}/events${query}`, {
      as,
    });
    expect(log).toContain('"seq":1');
  });
});

describe.each(["__proto__", "constructor", "toString"])("the property %s", (name) => {
  it("is kept in the schemas of a tool that is declared", async () => {
    const { call } = await serveStore();
    const inputSchema = `{"type":"object","properties":{"${name}":{"type":"string"},"a":{}}}`;
    const text = `{"description":"d","queue":"q","inputSchema":${inputSchema}}`;
    expect((await call("PUT", "/tools/odd", { as, text })).status).toBe(200);
    expect((await call("GET", "/tools/odd", { as })).text).toContain(inputSchema);
  });
});

it("an owner that is not percent-encoded as a URL must be is refused, and is not read as another", async () => {
  const { call } = await serveStore();
  await call("POST", "/namespaces/strict/records?owner=%25FF", { as, body: { id: "r" } });
  expect((await call("GET", "/namespaces/strict/records/r?owner=%25FF", { as })).status).toBe(200);
  for (const spelling of ["%FF", "%ed%a0%80"])
    expect([spelling, (await call("GET", `/namespaces/strict/records/r?owner=${spelling}`, { as })).status]).toEqual([
      spelling,
      400,
    ]);
});
