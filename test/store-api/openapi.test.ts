import { Validator as OpenApi } from "@seriousme/openapi-schema-validator";
import { Validator, type Schema } from "@cfworker/json-schema";
import { beforeAll, describe, expect, it } from "vitest";
import { openapi } from "../../scripts/openapi/document.ts";
import served from "../../src/store-api/assets/store/v1/openapi.json";
import { operationsOf, storeRoutes } from "../../src/store-api/routes";
import type { Wire } from "../support/mcp";
import { serveStore, type StoreServed } from "../support/store";

const document: Wire = openapi;
const METHODS = ["get", "put", "post", "patch", "delete"];

type Operation = { readonly method: string; readonly path: string; readonly it: Wire; readonly parameters: Wire[] };

const operations: readonly Operation[] = Object.entries<Wire>(document.paths).flatMap(([path, item]) =>
  METHODS.filter((method) => item[method]).map((method) => ({
    method: method.toUpperCase(),
    path,
    it: item[method],
    parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(resolved),
  })),
);

function resolved(part: Wire): Wire {
  if (!part.$ref) return part;
  const [, , kind, name] = part.$ref.split("/");
  return document.components[kind][name];
}

/** The names of the cases of an operation: its requests, or where it has no body its answers. */
const casesOf = ({ it: operation }: Operation): readonly string[] => {
  const requests = operation.requestBody?.content["application/json"].examples;
  return requests ? Object.keys(requests) : answersOf(operation).flatMap(({ examples }) => Object.keys(examples));
};

const answersOf = (operation: Wire): { status: number; schema: Schema; examples: Wire }[] =>
  Object.entries<Wire>(operation.responses).flatMap(([status, part]) => {
    const content = resolved(part).content?.["application/json"];
    return content ? [{ status: Number(status), schema: content.schema, examples: content.examples ?? {} }] : [];
  });

describe("the OpenAPI document", () => {
  it("is valid by the schema of OpenAPI 3.1, and every reference in it leads somewhere", async () => {
    const result = await new OpenApi().validate(structuredClone(document));
    expect(result).toEqual({ valid: true });
    for (const [, target] of JSON.stringify(openapi).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
      const [kind, name] = (target as string).split("/");
      expect(document.components[kind as string]?.[name as string], target).toBeDefined();
    }
  });

  it("is served as it is written (else run `npm run openapi`)", () => {
    expect(served).toEqual(JSON.parse(JSON.stringify(openapi)));
  });

  it("describes the operations that are served, and no others", async () => {
    const { deps } = await serveStore();
    const routes = storeRoutes(deps, async () => {
      throw new Error("Nobody calls.");
    }).routes.filter(({ method }) => method !== "ALL");
    const served = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    const described = operations.map(({ method, path }) => `${method} ${path}`);
    expect(described.sort()).toEqual([...new Set(served)].sort());
  });

  it("says of each operation what it takes, and what may come of it", async () => {
    const { deps } = await serveStore();
    const known = operationsOf(deps);
    const ids = operations.map(({ it: operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { method, path, it: operation, parameters } of operations) {
      const where = `${method} ${path}`;
      expect(operation.summary, where).toEqual(expect.any(String));
      const named = parameters.filter((one) => one.in === "path").map(({ name }) => name);
      expect(named.sort(), where).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort());
      for (const one of parameters) expect(one.description, `${where} ${one.name}`).toEqual(expect.any(String));
      const own = known.find((one) => one.method === method && one.path.replaceAll(/:(\w+)/g, "{$1}") === path);
      if (!own) throw new Error(`${where} is not served.`);
      expect(Boolean(operation.requestBody), where).toBe(Boolean(own.hasBody));
      for (const status of [400, 401, 403, 404, 500, 503, ...(own.hasBody ? [413, 415] : [])]) {
        expect(operation.responses[status], `${where} ${status}`).toBeDefined();
      }
      const header = parameters.some(({ name }) => name.toLowerCase() === own.condition);
      expect(header, `${where} ${own.condition}`).toBe(own.condition !== undefined);
      const roles = operation.security.flatMap((one: Wire) => one.bearer);
      expect(roles, where).toEqual(own.opens === "known" ? ["client", "worker", "admin"] : ["worker", "admin"]);
      expect(casesOf({ method, path, it: operation, parameters }).length, where).toBeGreaterThan(0);
    }
  });

  it("has examples that fit what it says itself", () => {
    for (const { method, path, it: operation } of operations) {
      const request = operation.requestBody?.content["application/json"];
      for (const [name, { value }] of Object.entries<Wire>(request?.examples ?? {})) {
        expect(misfit(request.schema, value), `${method} ${path} ${name}`).toBeNull();
      }
      for (const { status, schema, examples } of answersOf(operation)) {
        for (const [name, { value }] of Object.entries<Wire>(examples)) {
          expect(misfit(schema, value), `${method} ${path} ${status} ${name}`).toBeNull();
        }
      }
    }
  });
});

/** Operations in an order in which each finds what it is about. */
const STORY = [
  "createRecord",
  "listRecords",
  "getRecord",
  "putRecord",
  "mergeRecord",
  "setQuestions",
  "resolveQuestions",
  "readEvents",
  "setStatus",
  "cancelRecord",
  "listRevisions",
  "cleanUp",
  "removeRecord",
  "claimWork",
  "heartbeatWork",
  "progressWork",
  "askWork",
  "completeWork",
  "failWork",
  "releaseWork",
  "declareTool",
  "listTools",
  "getTool",
  "removeTool",
];

describe("each example of the OpenAPI document", () => {
  let served: StoreServed;
  beforeAll(async () => {
    served = await serveStore();
    const path = "/namespaces/documents/records/invoice-1";
    await served.call("PUT", path, { as: "ann", body: { document: { total: 12.5 } } });
  });

  it("is part of the story", () => {
    expect(operations.map(({ it: operation }) => operation.operationId).sort()).toEqual([...STORY].sort());
  });

  // One after another: a later one finds what an earlier one made.
  it.each(
    STORY.flatMap((id) => {
      const operation = operations.find((one) => one.it.operationId === id) as Operation;
      const cases = casesOf(operation);
      return (cases.length > 0 ? cases : [""]).map((name) => [id, name, operation] as const);
    }),
  )("%s %s comes to what is documented", async (_, name, operation) => {
    const { method, path, parameters, it: described } = operation;
    const given = parameters.filter(({ example }) => example !== undefined);
    const inPath = Object.fromEntries(given.filter((one) => one.in === "path").map((one) => [one.name, one.example]));
    let body: Wire = described.requestBody?.content["application/json"].examples[name].value;
    if (path.startsWith("/work/")) {
      const { taskId, lease } = await claimed(served);
      inPath["task"] = taskId;
      // A worker that is late names a lease of its own.
      if (name !== "lost") body = { ...body, lease };
    }
    if (described.operationId === "claimWork") await served.start({ scene: "s" });
    const query = new URLSearchParams(given.filter((one) => one.in === "query").map((one) => [one.name, one.example]));
    const address = path.replaceAll(/\{(\w+)\}/g, (__, key: string) => encodeURIComponent(inPath[key] as string));
    const roles = (described.security as Wire[]).flatMap((one) => one.bearer);
    const answer = await served.call(method, query.size > 0 ? `${address}?${query}` : address, {
      as: roles.length === 0 ? null : roles.includes("client") ? "ann" : "root",
      body,
      headers: Object.fromEntries(given.filter((one) => one.in === "header").map((one) => [one.name, one.example])),
    });

    const wanted = answersOf(described).find(({ examples }) => name === "" || examples[name]);
    expect(answer.status, answer.text).toBe(wanted?.status);
    const documented = resolved(described.responses[answer.status]);
    expect(misfit(strict(documented.content["application/json"].schema), answer.body)).toBeNull();
    for (const header of Object.keys(documented.headers ?? {}))
      expect(answer.headers.get(header), header).not.toBeNull();
    if (name !== "") expect(shapeOf(answer.body)).toEqual(shapeOf(wanted?.examples[name].value));
  });
});

async function claimed({ call, start }: StoreServed): Promise<{ taskId: string; lease: string }> {
  const taskId = await start();
  const body = { claimId: taskId, waitMs: 5_000, leaseMs: 60_000 };
  return (await call("POST", "/queues/gpu/claims", { as: "wendy", body })).body.claims[0];
}

/** Null, or what of the value does not fit. */
function misfit(schema: Wire, value: unknown): unknown {
  const { valid, errors } = new Validator(
    { ...schema, components: strictParts ?? document.components },
    "2020-12",
  ).validate(value);
  return valid ? null : errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

let strictParts: Wire;

/** The same, allowing nothing that is not documented. */
function strict(schema: Wire): Wire {
  strictParts ??= closed(document.components);
  return closed(schema);
}

function closed(part: Wire): Wire {
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map(closed);
  const inner = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, closed(value)]));
  return part.type === "object" && part.properties ? { additionalProperties: false, ...inner } : inner;
}

/** What a value is made of: its names and the types behind them. */
function shapeOf(value: Wire): Wire {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]));
}
