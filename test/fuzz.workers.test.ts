// Thousands of requests that are nearly good ones, of every protocol and revision, to the Worker with its objects. Run one
// again with FUZZ_SEED=<seed>, longer with FUZZ_RUNS=<number>.
import { createExecutionContext, listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { LEGACY } from "../src/mcp/era";
import { isObject } from "../src/task/json";
import fixtureWorker from "./fixtures/worker";
import { mutated, randomFrom, type Draft, type Sent } from "./support/fuzz";
import { a2aDrafts, a2aFault } from "./support/fuzz-a2a";
import { recordDrafts, refusalFault, storeDraft, workDrafts, type Kept } from "./support/fuzz-store";
import { envelope, headersFor, REVISION, withEverything, type Wire } from "./support/mcp";

/** So many at a time. */
const LANES = 20;
const { seed, runs } = inject("fuzz");

const digestOf = async (token: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token))).toHex();
const callers = { "owner-a": "client", "owner-b": "client", "owner-c": "client", worker: "worker", admin: "admin" };
const entries = await Promise.all(
  Object.entries(callers).map(async ([subject, scope]) => ({
    sha256: await digestOf(subject),
    subject,
    scopes: [scope],
  })),
);
// Calls are not held: a changed number might have one wait for long. Nor does any caller use up its minute.
const common = {
  ...env,
  INLINE_WAIT_MS: "1",
  A2A_BLOCK_MS: "1",
  CREATES_PER_MINUTE: "1000000",
  MAX_LIVE_TASKS_PER_OWNER: "10000",
};
const withOwners = { ...common, AUTH_TOKENS: JSON.stringify(entries) };

/** Wherever it turns up but with its owner, something was given away. */
const SECRET = "what only owner-a may read";

const exchange = (sent: Sent, bindings: object): Promise<Response> => {
  const headers = new Headers();
  for (const [name, value] of sent.headers) headers.append(name, value);
  const request = new Request(`http://localhost${sent.path}`, { method: sent.method, headers, body: sent.body });
  return fixtureWorker.fetch(request as never, bindings as never, createExecutionContext());
};

const draft = (headers: Headers, body: unknown, method = "POST"): Draft => ({
  method,
  path: "/mcp",
  headers: [...headers],
  body,
});
const modern = (token: string | undefined, method: string, params: Wire = {}): Draft =>
  draft(headersFor(method, params, token), {
    jsonrpc: "2.0",
    id: 1,
    method,
    params: { ...params, _meta: envelope(withEverything) },
  });
function legacy(token: string | undefined, session: string | null, body: unknown, method = "POST"): Draft {
  const headers = new Headers({ "Content-Type": "application/json", Accept: "application/json, text/event-stream" });
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (session !== null) headers.set("Mcp-Session-Id", session);
  if (method === "GET") headers.set("Accept", "text/event-stream");
  return draft(headers, body, method);
}
const request = (method: string, params: Wire = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });
const beginning = (protocolVersion: string) =>
  request("initialize", {
    protocolVersion,
    capabilities: { elicitation: {}, tasks: {} },
    clientInfo: { name: "fuzz", version: "1" },
  });

const send = (made: Draft, bindings: object): Promise<Response> =>
  exchange(
    { ...made, body: made.body === null ? null : Uint8Array.from(new TextEncoder().encode(JSON.stringify(made.body))) },
    bindings,
  );
const answerTo = async (made: Draft, bindings: object): Promise<Wire> => (await send(made, bindings)).json();
const ask = (token: string | undefined, bindings: object, method: string, params: Wire): Promise<Wire> =>
  answerTo(modern(token, method, params), bindings);

type Place = {
  /** Of the protocols, and of the store API: one as often as the other, where there are both. */
  readonly drafts: readonly (readonly Draft[])[];
  readonly bindings: object;
  /** What may turn up in a request from here: nobody may know what it is allowed to read of the others'. */
  readonly known: readonly string[];
};

/** Good requests of all revisions, with values that are good in this place. */
async function draftsOf(
  token: string | undefined,
  bindings: object,
  known: string[],
  victims: readonly string[],
): Promise<readonly Draft[]> {
  const { taskId } = (await ask(token, bindings, "tools/call", { name: "ask", arguments: { keys: ["k"] } })).result;
  const rounds = await ask(token, bindings, "tools/call", {
    name: "test_input_required_result_request_state",
    arguments: {},
  });
  const { requestState } = rounds.result;
  known.push(taskId, requestState);
  const answers = { k: { action: "accept", content: { v: "x" } } };
  const taskIds = [taskId, ...victims];
  const drafts: Draft[] = [
    modern(token, "server/discover"),
    modern(token, "tools/list"),
    modern(token, "tools/call", { name: "plain", arguments: { x: [1, { a: "b" }] } }),
    modern(token, "tools/call", { name: "slow", arguments: { ms: 0, text: "?" } }),
    modern(token, "tools/call", { name: "remote", arguments: { text: "?" } }),
    modern(token, "tools/call", { name: "fuzzed", arguments: { a: "x" } }),
    modern(token, "tools/call", { name: "test_x_mcp_header", arguments: { region: "eu" } }),
    modern(token, "tools/call", {
      name: "test_input_required_result_request_state",
      arguments: {},
      requestState,
      inputResponses: { confirm: { action: "accept", content: { ok: true } } },
    }),
    ...taskIds.flatMap((id) => [
      modern(token, "tools/call", { name: "task_result", arguments: { taskId: id, waitMs: 1 } }),
      modern(token, "tasks/get", { taskId: id }),
      modern(token, "tasks/update", { taskId: id, inputResponses: answers }),
      modern(token, "tasks/cancel", { taskId: id }),
      modern(token, "subscriptions/listen", { notifications: { toolsListChanged: true, taskIds: [id] } }),
    ]),
  ];
  for (const version of LEGACY) {
    const response = await send(legacy(token, null, beginning(version)), bindings);
    const session = response.headers.get("mcp-session-id") as string;
    await response.body?.cancel();
    known.push(session);
    const task = version === "2025-11-25" ? { task: { ttl: 100_000 } } : {};
    drafts.push(
      legacy(token, null, beginning(version)),
      legacy(token, session, request("ping")),
      legacy(token, session, request("logging/setLevel", { level: "debug" })),
      legacy(token, session, request("tools/list")),
      legacy(token, session, request("tools/call", { name: "slow", arguments: { ms: 0, text: "?" }, ...task })),
      ...taskIds.map((id) =>
        legacy(token, session, request("tools/call", { name: "task_answer", arguments: { taskId: id, answers } })),
      ),
      legacy(token, session, { jsonrpc: "2.0", id: requestState, result: { action: "accept" } }),
      legacy(token, session, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }),
      legacy(token, session, null, "GET"),
    );
    if (version === "2025-11-25") {
      drafts.push(legacy(token, session, request("tasks/list", { cursor: requestState })));
      for (const method of ["tasks/get", "tasks/result", "tasks/cancel"])
        for (const id of taskIds) drafts.push(legacy(token, session, request(method, { taskId: id })));
    }
    if (version === "2025-03-26")
      drafts.push(legacy(token, session, [request("ping"), request("tools/list", {}, 2), request("nothing", {}, 3)]));
  }
  return drafts;
}

/** A task of the caller's own that asks, made by a message with this text. */
async function begunOverA2a(token: string | undefined, bindings: object, key = "k"): Promise<string> {
  const headers = new Headers({ "Content-Type": "application/json", "A2A-Version": "1.0" });
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const parts = [{ data: { skill: "ask", arguments: { keys: [key] } } }];
  const message = { role: "ROLE_USER", messageId: key, contextId: `c of ${token}`, parts };
  const body = request("SendMessage", { message, configuration: { returnImmediately: true } });
  const made = { ...draft(headers, body), path: "/a2a" };
  return (await answerTo(made, bindings)).result.task.id;
}

/** A record of the caller's own, made for the drafts. */
async function keep(
  token: string | undefined,
  bindings: object,
  at: Omit<Kept, "id">,
  body: object,
  granted: Set<string>,
): Promise<Kept> {
  const path = `/namespaces/${at.namespace}/records${at.query ?? ""}`;
  const record = await answerTo(storeDraft(token, "POST", path, body), bindings);
  if (typeof record.id !== "string") throw new Error(`There is no record in ${path}: ${JSON.stringify(record)}`);
  granted.add(placeOf(record));
  return { ...at, id: record.id };
}

/** Tasks of the tool `remote`, in the hands of the worker. */
async function jobsOf(count: number): Promise<readonly Wire[]> {
  for (let n = 0; n < count; n += 1) await ask("owner-b", withOwners, "tools/call", { name: "remote", arguments: {} });
  const body = { claimId: "for the drafts", max: count, waitMs: 20_000, leaseMs: 3_600_000 };
  const jobs: Wire[] = [];
  while (jobs.length < count) {
    const claim = { ...body, claimId: `for the drafts ${jobs.length}` };
    jobs.push(...(await answerTo(storeDraft("worker", "POST", "/queues/remote/claims", claim), withOwners)).claims);
  }
  return jobs;
}

type Answer = { readonly status: number; readonly type: string; readonly text: string };

/** A stream that goes on by itself is left after a moment; one of A2A, not before it has said of which task it is. */
async function read(response: Response, path: string): Promise<Answer> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || !response.body)
    return { status: response.status, type, text: await response.text() };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const left = new Promise<null>((resolve) => setTimeout(() => resolve(null), 30));
  let text = "";
  for (;;) {
    const mayLeave = !isOfA2a(path) || text.includes("data:");
    const chunk = await Promise.race([reader.read(), ...(mayLeave ? [left] : [])]);
    if (chunk === null) await reader.cancel();
    if (chunk === null || chunk.done) return { status: response.status, type, text };
    text += decoder.decode(chunk.value, { stream: true });
  }
}

const PLAIN = [
  "Nothing is served here.\n",
  "This takes GET.\n",
  "Holdfast: durable tasks for slow tools. MCP clients talk to /mcp, A2A clients to /a2a, servers and workers to /store/v1.\n",
];
const INSIDES =
  /\bError:|\bat [\w.<>$]+ ?\(|\bat (?:async )?\/|zod|node_modules|\.[cm]?[jt]s\b|durable object|workerd|sqlite/i;

/** The JSON messages of an answer; throws where there is anything else. */
function messagesOf({ type, text }: Answer): Wire[] {
  if (text === "") return [];
  if (type.startsWith("text/event-stream")) {
    const data = text.split("\n\n").flatMap((event) => {
      const lines = event.split("\n").filter((line) => line.startsWith("data:"));
      return lines.map((line) => line.slice(5).trim());
    });
    return data.filter((line) => line !== "").map((line) => JSON.parse(line) as Wire);
  }
  if (type.startsWith("text/plain")) {
    if (!PLAIN.includes(text)) throw new Error("This is no text of the server's.");
    return [];
  }
  return [JSON.parse(text)].flat();
}

/** By where the URL leads: its parser takes the steps that a path has. */
const isOfStore = (path: string): boolean => new URL(`http://localhost${path}`).pathname.startsWith("/store/v1/");
const isOfRpc = (path: string): boolean => /^\/a2a\/?$/.test(new URL(`http://localhost${path}`).pathname);
const isOfA2a = (path: string): boolean => /^\/a2a(\/|$)/.test(new URL(`http://localhost${path}`).pathname);

/** What is wrong with the answer, if anything. */
function faultOf(answer: Answer, { path, method }: Sent): string | null {
  const { status, text } = answer;
  if (status >= 500 && !(status === 503 && text.includes('"message"'))) return `It was answered with ${status}.`;
  if (text.includes(SECRET)) return "The answer holds another owner's secret.";
  let messages: Wire[];
  try {
    messages = messagesOf(answer);
  } catch (thrown) {
    return `The answer cannot be read: ${String(thrown)}`;
  }
  if (messages.some((message) => !isObject(message))) return "The answer holds what is no message.";
  for (const { error } of messages)
    if (error && INSIDES.test(JSON.stringify(error))) return "The answer shows insides.";
  if (status >= 400 && INSIDES.test(text)) return "The refusal shows insides.";
  if (messages.some(({ error }) => error?.code === -32603)) return "The server could not answer.";
  if (isOfA2a(path)) return a2aFault(status, messages, isOfRpc(path));
  const isRefusal = isOfStore(path) && status >= 400 && method !== "HEAD" && method !== "OPTIONS";
  return isRefusal ? refusalFault(status, messages[0]) : null;
}

/** What a granted request said: the ids in it, and the texts. A task that no answer told of was made by a refused one. */
function note(answer: Answer, { path }: Sent, granted: Set<string>): void {
  if (answer.status !== 200) return;
  for (const message of messagesOf(answer)) {
    // Over REST the result is all there is.
    const { result = isOfA2a(path) && !message.error ? message : undefined } = message;
    if (!result || result.isError) continue;
    const text = JSON.stringify(result);
    for (const [id] of text.matchAll(/[\w-]{43}(?![\w-])/g)) granted.add(id);
    for (const block of [result.content ?? []].flat()) if (typeof block?.text === "string") granted.add(block.text);
  }
}

/** Where a record is, as one text. */
const placeOf = ({ namespace, owner, id }: Wire): string => JSON.stringify([namespace, owner, id]);

/** What a granted request of the store API made, or wrote: which record, and which request it was. */
function noteRecord(answer: Answer, { method, path }: Sent, n: number, granted: Set<string>): void {
  if (!isOfStore(path) || answer.status > 201 || !answer.type.startsWith("application/json")) return;
  const [record] = messagesOf(answer);
  if (typeof record?.version !== "number") return;
  granted.add(placeOf(record));
  if (method !== "GET" && method !== "HEAD") granted.add(`text ${n}`);
}

async function recordsOf(namespace: string, whose: string): Promise<Wire[]> {
  const all: Wire[] = [];
  for (let cursor = ""; ;) {
    const path = `/namespaces/${namespace}/records?limit=100&${whose}${cursor && `&cursor=${cursor}`}`;
    const page = await answerTo(storeDraft("admin", "GET", path), withOwners);
    all.push(...page.records);
    cursor = page.nextCursor;
    if (!cursor) return all;
  }
}

async function tasksOf(token: string): Promise<Wire[]> {
  const session = (await send(legacy(token, null, beginning("2025-11-25")), withOwners)).headers.get("mcp-session-id");
  const all: Wire[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await answerTo(legacy(token, session, request("tasks/list", cursor ? { cursor } : {})), withOwners);
    all.push(...page.result.tasks);
    cursor = page.result.nextCursor;
    if (!cursor) return all;
  }
}

const print = console.log;
beforeAll(() => void vi.spyOn(console, "log").mockImplementation(() => {}));
afterAll(() => void vi.restoreAllMocks());

it(
  "answers whatever it is sent, tells nobody's secret, and keeps nothing of what it refused",
  { timeout: 600_000 },
  async () => {
    const known = [
      REVISION,
      "2025-11-25",
      "2025-03-26",
      "tools/call",
      "tasks/get",
      "subscriptions/listen",
      "slow",
      "plain",
      "ask",
      "owner-b",
      "__proto__",
    ];
    // What is to be kept from the others, in a task that has ended and in one that asks.
    const slow = { name: "slow", arguments: { ms: 0, text: SECRET } };
    const secrets = [slow, { name: "ask", arguments: { keys: [SECRET] } }];
    for (const call of secrets) known.push((await ask("owner-a", withOwners, "tools/call", call)).result.taskId);
    known.push(await begunOverA2a("owner-a", withOwners, SECRET));
    const victims = known.slice(-secrets.length - 1);
    const seen = async (): Promise<string> =>
      JSON.stringify(await Promise.all(victims.map((taskId) => ask("owner-a", withOwners, "tasks/get", { taskId }))));
    await vi.waitUntil(async () => !(await seen()).includes('"working"'), { timeout: 20_000 });
    const before = await seen();

    const granted = new Set<string>();
    const document = { text: SECRET };
    const kept = [
      await keep(
        "owner-a",
        withOwners,
        { namespace: "default" },
        { document, task: { statusMessage: SECRET } },
        granted,
      ),
      await keep("owner-a", withOwners, { namespace: "default" }, { id: "owner-a/1", document }, granted),
      await keep("owner-a", withOwners, { namespace: "documents" }, { id: "owner-a/1", document }, granted),
    ];
    const recordsSeen = async (): Promise<string> => {
      const records = kept.map(async ({ namespace, id }) => {
        const draft = storeDraft("owner-a", "GET", `/namespaces/${namespace}/records/${encodeURIComponent(id)}`);
        return (await send(draft, withOwners)).text();
      });
      return JSON.stringify(await Promise.all(records));
    };
    const recordsBefore = await recordsSeen();

    const jobs = await jobsOf(8);
    // To act for anybody is what a worker's credential is for, so it must not know of the secrets.
    const ofWorkers = [...jobs.flatMap(({ taskId, lease }) => [taskId, lease]), "alice", "remote", "none"];
    const knownToWorkers = [...known.filter((value) => !victims.includes(value)), ...ofWorkers];
    known.push(...ofWorkers, ...kept.map(({ id }) => id), '["holdfast:token","owner-a"]');
    const clientPlace = async (token: string): Promise<Place> => {
      const own = [
        await keep(token, withOwners, { namespace: "default" }, { task: { inputRequests: { a: {} } } }, granted),
        await keep(
          token,
          withOwners,
          { namespace: "default" },
          { id: "own/1 \u00fc", document: { text: "?" } },
          granted,
        ),
        await keep(token, withOwners, { namespace: "documents" }, { id: "own/2", document: { text: "?" } }, granted),
      ];
      const ofWork = workDrafts(token, jobs.slice(0, 1));
      const mcp = await draftsOf(token, withOwners, known, victims);
      const asking = await begunOverA2a(token, withOwners);
      known.push(asking);
      const a2a = a2aDrafts(token, [asking, ...victims]);
      return { drafts: [mcp, a2a, [...recordDrafts(token, own, kept), ...ofWork]], bindings: withOwners, known };
    };
    const workerPlace = async (token: string | undefined, bindings: object, mcp: readonly (readonly Draft[])[]) => {
      const own: Kept[] = [];
      for (const namespace of ["strict", "lenient", "none", "files", "default"]) {
        const at = { namespace, query: namespace === "strict" || token === "admin" ? "?owner=alice" : "" };
        const isNobodys = token === undefined && namespace === "default";
        own.push(
          await keep(token, bindings, at, isNobodys ? {} : { id: `${token}/1`, document: { text: "?" } }, granted),
        );
      }
      const drafts = [...recordDrafts(token, own, []), ...workDrafts(token, token === "worker" ? jobs : [])];
      return { drafts: [...mcp, drafts], bindings, known: knownToWorkers };
    };
    const places: readonly Place[] = [
      await clientPlace("owner-b"),
      await clientPlace("owner-c"),
      // Anonymous callers on this machine may be workers.
      await workerPlace(undefined, common, [
        await draftsOf(undefined, common, [], victims),
        a2aDrafts(undefined, [await begunOverA2a(undefined, common), ...victims]),
      ]),
      await workerPlace("worker", withOwners, []),
      await workerPlace("admin", withOwners, []),
    ];
    const recordObjects = async (): Promise<number> => (await listDurableObjectIds(env.RECORDS as never)).length;
    const recordObjectsBefore = await recordObjects();
    let created = 0;
    for (const value of known) granted.add(value);
    const statuses = new Map<number, number>();
    const one = async (n: number): Promise<void> => {
      // Each has its own, whatever comes in between.
      const random = randomFrom(seed + n);
      const place = random.of(places);
      const sent = mutated(withText(random.of(random.of(place.drafts)), `text ${n}`), random, place.known);
      const told = (): string =>
        `FUZZ_SEED=${seed}: ${sent.method} ${sent.path} ${JSON.stringify(sent.headers)} ${JSON.stringify(new TextDecoder().decode(sent.body ?? new Uint8Array())).slice(0, 4_000)}`;
      let answer: Answer;
      try {
        answer = await read(await exchange(sent, place.bindings), sent.path);
      } catch (thrown) {
        throw new Error(`${String(thrown)}\n${told()}`, { cause: thrown });
      }
      const fault = faultOf(answer, sent);
      if (fault !== null) throw new Error(`${fault}\n${told()}\n${JSON.stringify(answer).slice(0, 2_000)}`);
      note(answer, sent, granted);
      noteRecord(answer, sent, n, granted);
      if (answer.status === 201) created += 1;
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    };
    let begun = 0;
    const lane = async (): Promise<void> => {
      while (begun < runs) {
        begun += 1;
        if (begun % 5_000 === 0) print(`${begun} of ${runs} requests (FUZZ_SEED=${seed})`);
        await one(begun);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    print(`${runs} requests (FUZZ_SEED=${seed}): ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`);

    expect(await seen()).toBe(before);
    expect(await recordsSeen()).toBe(recordsBefore);
    expect((await recordObjects()) - recordObjectsBefore).toBeLessThanOrEqual(created);
    expect((await tasksOf("owner-a")).map(({ taskId }) => taskId).sort()).toEqual([...victims].sort());
    const unexplained: Wire[] = [];
    for (const token of ["owner-b", "owner-c"]) {
      for (const { taskId } of await tasksOf(token)) {
        if (granted.has(taskId)) continue;
        // A call that was answered with its result named no task.
        const { result } = await ask(token, withOwners, "tasks/get", { taskId });
        const text = result?.result?.content?.[0]?.text;
        if (!granted.has(text)) unexplained.push({ token, taskId, status: result?.status, text });
      }
    }
    const subjects = ["owner-b", "owner-c", "worker", "admin"].map((subject) =>
      JSON.stringify(["holdfast:token", subject]),
    );
    for (const namespace of ["default", "documents", "strict", "lenient", "none", "files"]) {
      const isApart = namespace === "default" || namespace === "documents";
      const asked = isApart
        ? [...subjects, "alice"].map((owner) => `owner=${encodeURIComponent(owner)}`)
        : ["any=true"];
      for (const whose of asked) {
        for (const record of await recordsOf(namespace, whose)) {
          const { text } = record.document;
          const isTold = granted.has(placeOf(record));
          const isWritten = typeof text !== "string" || !/^text \d+$/.test(text) || granted.has(text);
          if (!isTold || !isWritten) unexplained.push(record);
        }
      }
    }
    expect({ seed, unexplained }).toEqual({ seed, unexplained: [] });
    // Not everything was refused, else nothing was tried.
    expect([200, 201, 400, 401, 403, 404, 405, 409, 412, 415].filter((status) => !statuses.get(status))).toEqual([]);
  },
);

/** The same request, with a text of its own where it has one: the task says which call made it. */
function withText(made: Draft, text: string): Draft {
  const args = made.body?.params?.arguments;
  if (made.body?.document?.text !== undefined)
    return { ...made, body: { ...made.body, document: { ...made.body.document, text } } };
  if (args?.text === undefined) return made;
  const { params } = made.body;
  return { ...made, body: { ...made.body, params: { ...params, arguments: { ...args, text } } } };
}

declare module "vitest" {
  interface ProvidedContext {
    fuzz: { readonly seed: number; readonly runs: number };
  }
}
