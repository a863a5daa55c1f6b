import { describe, expect, it } from "vitest";
import { asker } from "../../../src/mcp/legacy/questions";
import { createSealer } from "../../../src/seal";
import type { OpenQuestion } from "../../../src/service/task-store";
import type { Wire } from "../../support/mcp";

const question = (key: string, method: string = "elicitation/create"): OpenQuestion =>
  ({ key, request: { method, params: { mode: "form", message: key, requestedSchema: { type: "object" } } } }) as Wire;

function stream(capabilities: object) {
  const sent: Wire[] = [];
  const exchange: Wire = {
    request: async (id: string, method: string, params: string) =>
      sent.push({ id, method, params: JSON.parse(params) }),
  };
  const caller: Wire = {
    principal: { kind: "anonymous" },
    session: { key: "s", expiresAt: 0, version: "v", capabilities },
    revision: { toInputParams: ({ params }: Wire) => params },
    deps: { sealer: createSealer(async () => "a secret for tests, thirty-two bytes", Date.now), clock: Date.now },
  };
  return { ask: asker(caller, exchange, { task: "t", client: {} as Wire }), sent };
}

describe("what a stream asks its client", () => {
  it("goes out once on it, however often it is told of: a server that restarts begins with all that is open", async () => {
    const { ask, sent } = stream({ elicitation: {} });
    expect(ask([question("k1")])).toBe(true);
    expect(ask([question("k1"), question("k2")])).toBe(true);
    expect(ask([])).toBe(true);
    await expect.poll(() => sent.map(({ params }) => params.message)).toEqual(["k1", "k2"]);
    expect(sent[0].id).not.toBe(sent[1].id);
  });

  it("goes out again on another, with another id", async () => {
    const [one, two] = [stream({ elicitation: {} }), stream({ elicitation: {} })];
    for (const { ask } of [one, two]) ask([question("k1")]);
    await expect.poll(() => [one.sent.length, two.sent.length]).toEqual([1, 1]);
    expect(one.sent[0].id).not.toBe(two.sent[0].id);
    expect(one.sent[0].params).toEqual(two.sent[0].params);
  });

  it("is nothing at all where one of the questions cannot be put to the client", async () => {
    const { ask, sent } = stream({ elicitation: {} });
    expect(ask([question("k1"), question("k2", "sampling/createMessage")])).toBe(false);
    expect(ask([question("k1")])).toBe(true);
    await expect.poll(() => sent.length).toBe(1);
  });
});
