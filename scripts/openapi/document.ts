import { parameters } from "./parameters.ts";
import { json, REFUSALS, schema, type Part } from "./parts.ts";
import { recordActPaths } from "./record-acts.ts";
import { recordPaths } from "./records.ts";
import { recordSchemas } from "./schemas-of-records.ts";
import { workSchemas } from "./schemas-of-work.ts";
import { toolPaths } from "./tools.ts";
import { workPaths } from "./work.ts";

const REFUSED: Readonly<Record<keyof typeof REFUSALS, string>> = {
  400: "`invalid`: the message names the place.",
  401: "`unauthenticated`: the `WWW-Authenticate` header says how to be.",
  403: "`insufficient_scope`: the credential may not do this; the header names the scope.",
  404: "`not_found`: missing, expired and another's are the same. `record` is null where it is the record.",
  405: "`method_not_allowed`: what is kept here does not take this.",
  409: "The message says why.",
  413: "`too_large`: the body, or the record with it.",
  415: "`unsupported_media_type`: the body must be application/json.",
  429: "`limit_reached` or `rate_limited`: `data` says which limit.",
  500: "`internal` or `misconfigured`: the server's log says why.",
  503: "`overloaded`: try again.",
};

const WAIT = { "Retry-After": { description: "When to try again, s.", schema: { type: "integer" } } };

const refusal = (status: keyof typeof REFUSALS): Part => ({
  description: REFUSED[status],
  ...(status === 429 || status === 503 ? { headers: WAIT } : {}),
  content: json(schema("Refused")),
});

const responses = (): Part =>
  Object.fromEntries(
    (Object.keys(REFUSALS) as unknown as (keyof typeof REFUSALS)[]).map((status) => [
      REFUSALS[status],
      refusal(status),
    ]),
  );

/** What `/store/v1` is, for machines. */
export const openapi = {
  openapi: "3.1.0",
  info: {
    title: "Holdfast store API",
    version: "1",
    description:
      "Tasks and documents that servers elsewhere keep here, and work that workers elsewhere claim. Times are Unix ms, " +
      "durations ms. JSON of the caller's own goes out byte for byte as it came in. A key twice in one object is refused.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/store/v1" }],
  tags: [
    { name: "records", description: "Tasks and documents." },
    { name: "work", description: "For workers: claim, report, finish." },
    { name: "tools", description: "Tools whose work is done elsewhere." },
  ],
  paths: {
    ...recordPaths,
    ...recordActPaths,
    ...workPaths,
    ...toolPaths,
  },
  components: {
    schemas: { ...recordSchemas, ...workSchemas },
    parameters,
    responses: responses(),
    securitySchemes: {
      bearer: {
        type: "http",
        scheme: "bearer",
        description:
          "Scopes: `client` acts for itself, `worker` also for the owner it names and for any, `admin` includes both. On " +
          "this machine, and without auth settings, no credential is needed.",
      },
    },
  },
};
