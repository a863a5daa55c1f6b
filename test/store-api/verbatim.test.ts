import { expect, it } from "vitest";
import { AWKWARD } from "../../src/kit/merging-tasks";
import { serveStore } from "../support/store";

const PATH = "/namespaces/default/records";

it("passes every value of the caller's through byte for byte (A2)", async () => {
  const { call } = await serveStore();
  // Space inside a value is the caller's too; what stands around it is not.
  const odd = '{ "a" : 1.0 ,\n"b":[ 12345678901234567890 , 1e400, -0 ] }';
  const task = `"inputRequests":{"q":${odd},"__proto__":{"n":0.10}},"result":${odd},"error":1.50`;
  const created = await call("POST", PATH, { text: `{"id":"v", "document" : ${AWKWARD} ,"task":{${task}}}` });
  expect(created.status).toBe(201);
  for (const { text } of [created, await call("GET", `${PATH}/v`), await call("GET", PATH)]) {
    expect(text).toContain(`"document":${AWKWARD}`);
    expect(text).toContain(`"inputRequests":{"q":${odd},"__proto__":{"n":0.10}}`);
    expect(text).toContain(`"result":${odd}`);
    expect(text).toContain('"error":1.50');
  }

  const resolved = await call("POST", `${PATH}/v/responses`, { text: `{"inputResponses":{"q": ${odd}}}` });
  expect(resolved.text).toContain(`"inputResponses":{"q":${odd}}`);
  const merged = await call("PATCH", `${PATH}/v`, { text: '{"document":{"added":1.00}}' });
  expect(merged.text).toContain(`${AWKWARD.slice(0, -1)},"added":1.00}`);
  const replaced = await call("PUT", `${PATH}/v`, { text: `{"document":${odd}}`, headers: { "If-Match": '"1"' } });
  expect([replaced.status, replaced.text.includes(`"document":${AWKWARD.slice(0, -1)},"added":1.00}`)]).toEqual([
    412,
    true,
  ]);
  const asked = await call("PUT", `${PATH}/v/questions`, { text: `{"inputRequests":{"r":${odd}}}` });
  expect(asked.text).toContain(`"r":${odd}`);
  const ended = await call("PUT", `${PATH}/v/status`, { text: '{"status":"completed","task":{"result":2.00}}' });
  expect(ended.text).toContain('"result":2.00');

  const events = await call("GET", `${PATH}/v/events`);
  expect(events.text).toContain(`{"kind":"answered","key":"q","response":${odd}}`);
});

it("keeps a key of ours in a document a key of the caller's", async () => {
  const { call } = await serveStore();
  const document = '{"changed":"mine","task":{"status":"mine"},"version":"mine","error":{"code":"mine"}}';
  const { body } = await call("POST", PATH, { text: `{"id":"k","document":${document}}` });
  expect(body).toMatchObject({
    changed: true,
    version: 1,
    task: { status: "working" },
    document: JSON.parse(document),
  });
});

it("keeps documents and their revisions byte for byte", async () => {
  const { call } = await serveStore();
  await call("PUT", "/namespaces/files/records/f", { as: "wendy", text: `{"document":${AWKWARD}}` });
  const { text } = await call("GET", "/namespaces/files/records/f/revisions", { as: "wendy" });
  expect(text).toContain(`"document":${AWKWARD}`);
});
