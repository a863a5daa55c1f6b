// Thousands of requests that are nearly good ones, of every revision, to the Worker with its objects. Run one again with
// FUZZ_SEED=<seed>, longer with FUZZ_RUNS=<number>.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { revisionsOf } from "../src/mcp/era";
import { isObject } from "../src/task/json";
import fixtureWorker from "./fixtures/worker";
import { mutated, randomFrom, type Draft, type Sent } from "./support/fuzz";
import { envelope, headersFor, REVISION, withEverything, type Wire } from "./support/mcp";

/** So many at a time. */
const LANES = 20;
const { seed, runs } = inject("fuzz");

const digestOf = async (token: string): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token))).toHex();
const owners = ["owner-a", "owner-b", "owner-c"];
const entries = await Promise.all(
  owners.map(async (subject) => ({ sha256: await digestOf(subject), subject, scopes: ["client"] })),
);
// Calls are not held: a changed number might have one wait for long. Nor does any caller use up its minute.
const common = { ...env, INLINE_WAIT_MS: "1", CREATES_PER_MINUTE: "1000000", MAX_LIVE_TASKS_PER_OWNER: "10000" };
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

type Place = { readonly drafts: readonly Draft[]; readonly bindings: object; readonly token: string | undefined };

/** Good requests of all revisions, with values that are good in this place. */
async function placeOf(
  token: string | undefined,
  bindings: object,
  known: string[],
  victims: readonly string[],
): Promise<Place> {
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
  for (const version of revisionsOf("legacy")) {
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
  return { drafts, bindings, token };
}

type Answer = { readonly status: number; readonly type: string; readonly text: string };

/** A stream that goes on by itself is left after a moment. */
async function read(response: Response): Promise<Answer> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || !response.body)
    return { status: response.status, type, text: await response.text() };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const left = new Promise<null>((resolve) => setTimeout(() => resolve(null), 30));
  let text = "";
  for (;;) {
    const chunk = await Promise.race([reader.read(), left]);
    if (chunk === null) await reader.cancel();
    if (chunk === null || chunk.done) return { status: response.status, type, text };
    text += decoder.decode(chunk.value, { stream: true });
  }
}

const PLAIN = ["Nothing is served here.\n", "Holdfast: durable tasks for slow tools. MCP clients talk to /mcp.\n"];
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

/** What is wrong with the answer, if anything. */
function faultOf(answer: Answer): string | null {
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
  return null;
}

/** What a granted request said: the ids in it, and the texts. A task that no answer told of was made by a refused one. */
function note(answer: Answer, granted: Set<string>): void {
  if (answer.status !== 200) return;
  for (const { result } of messagesOf(answer)) {
    if (!result || result.isError) continue;
    const text = JSON.stringify(result);
    for (const [id] of text.matchAll(/[\w-]{43}(?![\w-])/g)) granted.add(id);
    for (const block of [result.content ?? []].flat()) if (typeof block?.text === "string") granted.add(block.text);
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
    const victims = known.slice(-secrets.length);
    const seen = async (): Promise<string> =>
      JSON.stringify(await Promise.all(victims.map((taskId) => ask("owner-a", withOwners, "tasks/get", { taskId }))));
    await vi.waitUntil(async () => !(await seen()).includes('"working"'), { timeout: 20_000 });
    const before = await seen();

    const places = [
      await placeOf("owner-b", withOwners, known, victims),
      await placeOf("owner-c", withOwners, known, victims),
      await placeOf(undefined, common, known, victims),
    ];
    const granted = new Set<string>(known);
    const statuses = new Map<number, number>();
    const one = async (n: number): Promise<void> => {
      // Each has its own, whatever comes in between.
      const random = randomFrom(seed + n);
      const { drafts, bindings } = random.of(places);
      const sent = mutated(withText(random.of(drafts), `text ${n}`), random, known);
      const told = (): string =>
        `FUZZ_SEED=${seed}: ${sent.method} ${sent.path} ${JSON.stringify(sent.headers)} ${JSON.stringify(new TextDecoder().decode(sent.body ?? new Uint8Array())).slice(0, 4_000)}`;
      let answer: Answer;
      try {
        answer = await read(await exchange(sent, bindings));
      } catch (thrown) {
        throw new Error(`${String(thrown)}\n${told()}`, { cause: thrown });
      }
      const fault = faultOf(answer);
      if (fault !== null) throw new Error(`${fault}\n${told()}\n${JSON.stringify(answer).slice(0, 2_000)}`);
      note(answer, granted);
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
    expect({ seed, unexplained }).toEqual({ seed, unexplained: [] });
    // Not everything was refused, else nothing was tried.
    expect([200, 400, 401, 404].filter((status) => !statuses.get(status))).toEqual([]);
  },
);

/** The same request, with a text of its own where it has one: the task says which call made it. */
function withText(made: Draft, text: string): Draft {
  const args = made.body?.params?.arguments;
  if (args?.text === undefined) return made;
  const { params } = made.body;
  return { ...made, body: { ...made.body, params: { ...params, arguments: { ...args, text } } } };
}

declare module "vitest" {
  interface ProvidedContext {
    fuzz: { readonly seed: number; readonly runs: number };
  }
}
