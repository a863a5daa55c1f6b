import { Hono } from "hono/tiny";
import type { Authenticate, Door } from "../auth";
import type { Config } from "../env";
import type { Principal } from "../service/principal";
import { readBody } from "../body";
import { jsonTextOf, parseJson } from "../json";
import { isJson } from "../media-types";
import type { Namespace } from "../record/record";
import { TaskError } from "../task/errors";
import { untilExpiry } from "../until-expiry";
import { toResponse } from "./answer";
import type { Operation, Posted, StoreContext, StoreDeps, StoreEnv } from "./deps";
import { explainThrown, notAllowed, Refused } from "./errors";
import { noOtherCondition } from "./preconditions";
import { recordOperations } from "./records";
import { toolOperations } from "./tools";
import { workOperations } from "./work";

export const operationsOf = (deps: StoreDeps): readonly Operation[] => [
  ...recordOperations(deps),
  ...workOperations(deps),
  ...toolOperations(deps),
];

/** The store API under `/store/v1`: what stands before every operation, in the order in which a request is judged. */
export function storeRoutes(deps: StoreDeps, authenticate: Authenticate): Hono<StoreEnv> {
  const routes = new Hono<StoreEnv>();
  const operations = operationsOf(deps);
  for (const { method, path, opens, hasBody, condition, serve } of operations) {
    routes.on(method, path, async (c) => {
      mustBeWellFormed(c.req.raw.url);
      const principal = await knownCaller(c, deps.config, authenticate, opens);
      c.set("principal", principal);
      if (hasBody) c.set("posted", await posted(c, deps.config));
      noOtherCondition(c.req.raw.headers, condition);
      const answer = await serve(c);
      return answer instanceof Response ? untilExpiry(answer, principal, deps.clock) : toResponse(answer);
    });
  }
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const methods = operations.filter((operation) => operation.path === path).map(({ method }) => method);
    routes.all(path, () => {
      throw notAllowed(methods);
    });
  }
  routes.all("*", () => {
    throw new TaskError("not_found", "Nothing is served here; /store/v1/openapi.json lists what is.");
  });
  routes.onError((thrown, c) => toResponse(explainThrown(thrown, deps.log, c.var.principal)));
  return routes;
}

/** The router decodes what it can; an id must be exactly what was meant. */
function mustBeWellFormed(url: string): void {
  try {
    const { pathname, search } = new URL(url);
    decodeURIComponent(pathname + search);
  } catch {
    throw new TaskError("invalid", "The path or the query is not percent-encoded as a URL must be.");
  }
}

async function knownCaller(
  c: StoreContext,
  { namespaces }: Config,
  authenticate: Authenticate,
  opens: Operation["opens"],
): Promise<Principal> {
  const scopes = scopesFor(c, opens, namespaces);
  const caller = await authenticate(c.req.raw, { path: "/store/v1", scopes });
  if (caller.kind !== "refused") return caller.principal;
  const code = caller.status === 401 ? "unauthenticated" : "insufficient_scope";
  throw new Refused(caller.status, code, caller.message, { headers: { "WWW-Authenticate": caller.challenge } });
}

/** Decided from the path and the query alone, so that a credential without the scope learns which one it needs. */
function scopesFor(c: StoreContext, opens: Operation["opens"], namespaces: readonly Namespace[]): Door["scopes"] {
  const namespace = namespaces.find(({ name }) => name === c.req.param("namespace"));
  if (opens === "keepers" && namespace?.owners === "separate") return ["admin"];
  // Whoever acts for others must be trusted with all of them.
  const forOthers = ["any", "owner", "unowned"].some((name) => c.req.query(name) !== undefined);
  return opens === "workers" || forOthers ? ["worker"] : ["client", "worker"];
}

async function posted(c: StoreContext, config: Config): Promise<Posted> {
  // A type other than JSON is also what a foreign page could send without asking first.
  if (!isJson(c.req.header("content-type") ?? null)) {
    throw new Refused(415, "unsupported_media_type", "Content-Type must be application/json.");
  }
  const bytes = await readBody(c.req.raw, config);
  const parsed = parseJson(bytes, { maxDepth: config.maxJsonDepth });
  if (!parsed.ok) throw new TaskError("invalid", parsed.reason);
  return { value: parsed.value, text: jsonTextOf(bytes), unsafeNumbers: parsed.unsafeNumbers };
}
