// Good requests of the store API, to be spoiled by the fuzzer, and what must hold for the answers.
import type { Draft } from "./fuzz";
import type { Wire } from "./mcp";

const BASE = "/store/v1";

/** A request as a well-behaved caller of the store API sends it. */
export function storeDraft(
  token: string | undefined,
  method: string,
  path: string,
  body: unknown = null,
  more: Readonly<Record<string, string>> = {},
): Draft {
  const headers = new Headers(more);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (body !== null) headers.set("Content-Type", "application/json");
  return { method, path: BASE + path, headers: [...headers], body };
}

/** One record of the place the drafts are for: in its namespace, by its id, for the owner of the query. */
export type Kept = { readonly namespace: string; readonly id: string; readonly query?: string };

const QUESTIONS = { a: { message: "Which?", n: 1.5 }, b: {} };
const STREAM = { Accept: "text/event-stream", "Last-Event-ID": "1" };

/** Everything that can be asked of a record. */
function ofRecord(token: string | undefined, { namespace, id, query = "" }: Kept): readonly Draft[] {
  const path = `/namespaces/${namespace}/records/${encodeURIComponent(id)}`;
  const and = query === "" ? "?" : `${query}&`;
  const draft = (method: string, below: string, body: unknown = null, headers = {}): Draft =>
    storeDraft(token, method, path + below, body, headers);
  return [
    draft("GET", query, null, { "If-None-Match": '"1"' }),
    draft("PUT", query, { document: { text: "?", n: 1 } }),
    draft("PUT", query, { id, version: 1, ttlMs: null, document: { text: "?" } }, { "If-Match": '"1"' }),
    draft("PATCH", query, { ttlMs: 1_000_000, task: { statusMessage: "m" }, document: { text: "?" } }),
    draft("PATCH", query, { document: { text: "?", deep: [{ a: [1, null] }] } }, { "If-Match": "*" }),
    draft("PUT", `/status${query}`, { status: "working", task: { statusMessage: null }, document: { text: "?" } }),
    draft("PUT", `/questions${query}`, { inputRequests: QUESTIONS }),
    draft("POST", `/responses${query}`, { inputResponses: { a: { action: "accept", content: { v: "x" } } } }),
    draft("GET", `/events${and}after=0&waitMs=1`),
    draft("GET", `/events${query}`, null, STREAM),
    draft("GET", `/revisions${query}`),
  ];
}

/** What is asked of a namespace as a whole; `text` in a document says which request made it. */
function ofNamespace(
  token: string | undefined,
  namespace: string,
  query = "",
  cursor = "WzEsImEiXQ",
): readonly Draft[] {
  const path = `/namespaces/${namespace}`;
  const and = query === "" ? "?" : `${query}&`;
  const task = {
    status: "working",
    statusMessage: "m",
    pollIntervalMs: 1_000,
    inputRequests: QUESTIONS,
    inputResponses: {},
    result: { content: [] },
    error: null,
  };
  const isTasks = namespace !== "documents" && namespace !== "files";
  const content = { ttlMs: 1_000_000, document: { text: "?", n: 1.5 }, ...(isTasks ? { task } : {}) };
  const create = (body: object, headers = {}): Draft =>
    storeDraft(token, "POST", `${path}/records${query}`, body, headers);
  return [
    create({ id: "a/new one", maxRows: 1_000, ...content }),
    create(content, { "Idempotency-Key": "a-key" }),
    // Most often, for what a refused one might leave behind.
    ...Array.from({ length: 6 }, () => create({ ...content, maxRows: null })),
    storeDraft(token, "GET", `${path}/records${and}limit=2&status=working`),
    storeDraft(token, "GET", `${path}/records${and}cursor=${cursor}`),
    storeDraft(token, "DELETE", `${path}/records/${encodeURIComponent("a/new one")}${query}`),
    storeDraft(token, "POST", `${path}/records/${encodeURIComponent("a/new one")}/cancel${query}`),
  ];
}

/** What whoever has this token asks of its own records, and of those of others whose ids it knows. */
export const recordDrafts = (
  token: string | undefined,
  own: readonly Kept[],
  others: readonly Kept[],
): readonly Draft[] => [
  ...[...own, ...others].flatMap((kept) => ofRecord(token, kept)),
  ...new Map(own.map((kept) => [kept.namespace, kept]))
    .values()
    .flatMap(({ namespace, query }) => ofNamespace(token, namespace, query)),
];

/** What a worker asks for, and reports on the tasks that it has. */
export function workDrafts(token: string | undefined, jobs: readonly Wire[]): readonly Draft[] {
  const tool = {
    description: "Does it.",
    inputSchema: { type: "object", properties: { a: { type: "string", maxLength: 10 } }, required: ["a"] },
    queue: "fuzz",
    ttlMs: 1_000_000,
    asks: ["form"],
  };
  const question = {
    method: "elicitation/create",
    params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } },
  };
  const claim = { claimId: "c", worker: "w", max: 1, waitMs: 1, leaseMs: 60_000, tools: ["remote"] };
  const draft = (method: string, path: string, body: unknown = null): Draft => storeDraft(token, method, path, body);
  return [
    draft("POST", "/queues/remote/claims", claim),
    draft("POST", "/queues/nobodys/claims", { ...claim, tools: null }),
    draft("GET", "/tools"),
    draft("GET", "/tools/fuzzed"),
    draft("PUT", "/tools/fuzzed", tool),
    draft("DELETE", "/tools/fuzzed"),
    draft("POST", "/namespaces/strict/cleanup", { defaultTtlMs: 1_000_000 }),
    draft("POST", "/namespaces/default/cleanup?owner=alice", { defaultTtlMs: 1_000_000 }),
    ...jobs.flatMap(({ taskId, lease }) => [
      draft("POST", `/work/${taskId}/heartbeat`, { lease, leaseMs: 60_000 }),
      draft("POST", `/work/${taskId}/progress`, {
        lease,
        progress: { message: "m", progress: 1, total: 2 },
        leaseMs: 60_000,
      }),
      draft("POST", `/work/${taskId}/ask`, { lease, questions: { q: question }, timeoutMs: 60_000 }),
      draft("POST", `/work/${taskId}/complete`, { lease, result: { content: [{ type: "text", text: "x" }] } }),
      draft("POST", `/work/${taskId}/fail`, {
        lease,
        error: { code: -32_000, message: "m", data: { n: 1 } },
        retry: true,
      }),
      draft("POST", `/work/${taskId}/release`, { lease }),
    ]),
  ];
}

/** What is wrong with a refusal of the store API, if anything. */
export function refusalFault(status: number, message: Wire): string | null {
  const { jsonrpc, error } = message ?? {};
  // Pages of foreign origins are refused before it is looked at what they ask for.
  if (status === 403 && jsonrpc !== undefined) return null;
  if (typeof error?.code !== "string" || !/^[a-z_]+$/.test(error.code)) return "The refusal has no code.";
  if (typeof error.message !== "string" || !/^[\s\S]{5,2000}\.$/.test(error.message))
    return "The refusal has no sentence.";
  return error.code === "internal" ? "The server could not answer." : null;
}
