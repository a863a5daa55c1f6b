// The requirements of the official compatibility kit of A2A 1.0, by id, for each binding. The kit itself can be run by hand
// against `wrangler dev --env tck`.
import { afterAll, beforeAll, describe, expect, it, type RunnerTask } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { jsonRpcAgent, restAgent, type Send } from "./tck/agent";
import { both } from "./tck/both";
import { card } from "./tck/card";
import { dataModel } from "./tck/data-model";
import { elsewhere, withOlder } from "./tck/elsewhere";
import { jsonRpc } from "./tck/json-rpc";
import { owners } from "./tck/owners";
import { pushing } from "./tck/pushing";
import { history, reading } from "./tck/reading";
import { refusing } from "./tck/refusing";
import { isOfNoBinding, REQUIREMENTS, UNTESTED } from "./tck/requirements";
import { rest } from "./tck/rest";
import { sending } from "./tck/sending";
import { signingIn } from "./tck/signing-in";
import { streaming } from "./tck/streaming";
import { versions } from "./tck/versions";

let server: DevServer;
beforeAll(
  async () =>
    void (server = await startDevServer({
      env: "tck",
      // So that this judges the code that ships, with what the bundler and the minifier made of the SDK.
      minified: true,
      vars: { CREATES_PER_MINUTE: "100000", POLL_BURST: "100000" },
    })),
);
afterAll(() => server.stop());

const send: Send = (path, init) => fetch(server.url + path, init);
const rpcAgent = jsonRpcAgent(send);
const httpAgent = restAgent(send);

// No test minds the others: each begins tasks of its own, and some only wait.
describe.concurrent.each([
  ["JSON-RPC", rpcAgent, jsonRpcAgent],
  ["REST", httpAgent, restAgent],
] as const)("by %s,", (_, agent, agentOver) => {
  describe("a message", () => sending(agent));
  describe("a task", () => reading(agent));
  describe("a history", () => history(agent));
  describe("a stream", () => streaming(agent));
  describe("a push notification", () => pushing(agent));
  describe("a shape", () => dataModel(agent));
  describe("a refusal", () => refusing(agent));
  describe("a version", () => versions(agent));
  describe("an owner", () => owners(agent));
  describe("a task that waits for a login", () => signingIn(agent));
  describe("another deployment", () => elsewhere(agentOver));
  describe("a deployment that speaks 0.3 too", () => withOlder(agentOver));
});
describe.concurrent("JSON-RPC itself", () => jsonRpc(send, rpcAgent));
describe.concurrent("HTTP+JSON itself", () => rest(send, httpAgent));
describe.concurrent("the bindings together", () => both(rpcAgent, httpAgent));
describe.concurrent("the card", () => card(send, [rpcAgent, httpAgent]));

describe("the list", () => {
  const { MUST, SHOULD, MAY } = REQUIREMENTS;
  const all = [...MUST, ...SHOULD, ...MAY];

  it("is the kit's", () => {
    expect([MUST.length, SHOULD.length, MAY.length, new Set(all).size]).toEqual([114, 11, 4, 129]);
  });

  it("has for each requirement a test, by each binding, or a reason why not", ({ task }) => {
    const names = task.file.tasks.flatMap((one) => namesIn(one, ""));
    const tests = (id: string, where: string): readonly string[] =>
      names.filter((name) => name.startsWith(where) && name.split(/[ >]/).includes(id));
    const wheres = (id: string): readonly string[] => (isOfNoBinding(id) ? [""] : ["by JSON-RPC", "by REST"]);
    const untested = all.filter((id) => wheres(id).some((where) => tests(id, where).length === 0));
    expect(untested.toSorted()).toEqual(Object.keys(UNTESTED).toSorted());
  });
});

/** Of the tests that run, with the suites they are in. */
const namesIn = (task: RunnerTask, within: string): string[] =>
  task.type === "suite"
    ? task.tasks.flatMap((one) => namesIn(one, `${within}${task.name} > `))
    : task.mode === "run"
      ? [within + task.name]
      : [];
