import * as z from "zod";
import { decodeBase64url, encodeBase64url } from "../../src/base64url";
import type { LegacyRevision } from "../../src/mcp/legacy/revision";
import { sealCursor } from "../../src/list-cursor";
import { createSealer } from "../../src/seal";
import type { Principal } from "../../src/service/principal";
import { randomTaskId } from "../../src/task-id";
import { defineTool } from "../../src/tool/define-tool";
import { gate } from "./gate";
import { connect, type EventReader, type LegacyClient } from "./legacy";
import { serve, until, type Served, type Wire } from "./mcp";

/** What a caller is given that another must get nothing for. */
export const kinds = ["task", "session", "question", "cursor", "state", "key", "event"] as const;
export type Kind = (typeof kinds)[number];
/** Of each kind as many as there are ways to come by one. */
export type Secrets = Readonly<Record<Kind, readonly string[]>>;

export type Who = "a" | "b";

/** Owner A with tasks, sessions, streams and questions of all kinds, and owner B, who is after them. */
export type World = {
  readonly served: Served;
  readonly identified: boolean;
  readonly secrets: Secrets;
  /** Tasks of B's own, one that goes on and one that has ended. */
  readonly own: { readonly working: string; readonly settled: string };
  /** A's tasks: one that has ended, one that asks and one that goes on. */
  readonly taskIds: readonly string[];
  /** The one that asks. */
  readonly asking: string;
  readonly token: (who: Who) => { readonly token?: string };
  /** Sessions of the revision that is looked at. */
  readonly clients: Readonly<Record<Who, LegacyClient>>;
  /** A's session of the newest revision that has them, in which the tasks were made. */
  readonly newest: LegacyClient;
  /** A's own streams: the session's, one that waits for the result of `asking`, and one of a call that asks. */
  readonly streams: { readonly session: EventReader; readonly result: EventReader; readonly call: EventReader };
  /** The requests on A's streams. */
  readonly questions: { readonly ofTask: Wire; readonly ofCall: Wire };
  /** The JSON-RPC ids of A's requests that are still open. */
  readonly requests: readonly (string | number)[];
  /** A's tasks as A sees them. */
  readonly seen: () => Promise<string>;
};

export const ANSWER = { action: "accept", content: { v: "yes" } } as const;
export const KEYED = { note: "keyed" };
export const KEY = "dev.holdfast/idempotencyKey";

const question = { kind: "form", schema: { type: "object", properties: { v: { type: "string" } } } } as const;
const input = z.object({ note: z.string().optional() });

/** The task's id stands in whatever it says, so that whoever learns of it can be caught. */
const secretive = defineTool({
  name: "secretive",
  description: "Asks, and returns the answer.",
  input,
  task: "optional",
  asks: ["form"],
  async run(_, task) {
    const { ask } = await task.ask({ ask: { ...question, message: `This is ${task.id}. What now?` } });
    return `${task.id}: ${JSON.stringify(ask)}`;
  },
});

const whisper = defineTool({
  name: "whisper",
  description: "Asks within the call.",
  input,
  task: "forbidden",
  asks: ["form"],
  run: async (_, task) => JSON.stringify((await task.ask({ ask: { ...question, message: "What now?" } })).ask),
});

const quick = defineTool({
  name: "quick",
  description: "Ends at once.",
  input,
  task: "optional",
  run: (_, task) => `${task.id} is done`,
});

const plain = defineTool({ name: "plain", description: "No task.", input, task: "forbidden", run: () => "done" });

const forms = { elicitation: {} };
const jsonOnly = { Accept: "application/json" };

/** `version` is that of the sessions. */
export async function world(identified: boolean, version: LegacyRevision["version"] = "2025-11-25"): Promise<World> {
  const sealer = createSealer(async () => "a secret for tests, thirty-two bytes", Date.now);
  const served = await serve([secretive, whisper, quick, plain, gate("work", "optional").tool], {
    ...(identified ? { owners: ["owner-a", "owner-b"] } : {}),
    config: { inlineWaitMs: 1_000 },
    limits: { createsPerMinute: 1_000_000, maxLiveTasksPerOwner: 10_000, pollIntervalMs: 20 },
    deps: { sealer },
  });
  const token = (who: Who) => (identified ? { token: `owner-${who}` } : {});
  const principal = (who: Who): Principal =>
    identified
      ? { kind: "identified", issuer: "holdfast:token", subject: `owner-${who}`, scopes: ["client"], expiresAt: null }
      : { kind: "anonymous" };
  const newest = (who: Who) => connect(served, { ...token(who), capabilities: { ...forms, tasks: {} } });
  const a = await newest("a");
  const of = (who: Who) => connect(served, { ...token(who), version, capabilities: forms });
  const clients = { a: version === "2025-11-25" ? a : await of("a"), b: await of("b") };
  const asks = version !== "2025-03-26";

  const result = await streamOf(a, "secretive");
  const ofTask = await result.stream.request();
  const caller = asks ? clients.a : a;
  const call = await caller.open("tools/call", { name: "whisper" }, { id: "open-call" });
  const ofCall = await call.request();
  const session = await a.listen();
  await until(() => session.events.length, Boolean);
  const working = (await a.task("work")).taskId as string;
  const settled = (await a.task("quick")).taskId as string;
  await a.poll(settled, "completed");

  const b = await newest("b");
  const own = { working: (await b.task("work")).taskId as string, settled: (await b.task("quick")).taskId as string };
  await b.poll(own.settled, "completed");
  for (const [who, id] of [
    ["a", working],
    ["b", own.working],
  ] as const)
    await until(
      async () => (await served.tasks.get(principal(who), id)).progress,
      (progress) => progress !== null,
    );

  const ids = [settled, result.taskId, working];
  const seen = async () => JSON.stringify(await Promise.all(ids.map((id) => served.tasks.get(principal("a"), id))));
  const key = encodeBase64url(crypto.getRandomValues(new Uint8Array(24)));
  const keyed = { name: "quick", arguments: KEYED, _meta: { [KEY]: key } };
  if (identified) await served.call("tools/call", keyed, { ...token("a"), headers: { "Idempotency-Key": key } });
  await clients.a.call("tools/call", keyed, { headers: jsonOnly });
  const stateOf = async (name: string, args: object): Promise<string> => {
    const options = { ...token("a"), capabilities: forms };
    return (await served.tool(name, args, options)).result.requestState;
  };
  const secrets: Secrets = {
    question: [ofTask.id, ofCall.id],
    key: [key],
    event: [result.stream.events[0]?.id as string, session.events[0]?.id as string],
    // Whoever has one of these may use it, where callers cannot be told apart.
    task: identified ? ids : [],
    session: identified ? [clients.a.sessionId as string] : [],
    cursor: identified
      ? [
          await sealCursor({ sealer }, principal("a"), "createdAt", {
            createdAt: Date.now() + 60_000,
            id: settled,
          }),
        ]
      : [],
    state: identified
      ? [
          await stateOf("secretive", {}),
          await stateOf("whisper", {}),
          await stateOf("task_result", { taskId: result.taskId }),
        ]
      : [],
  };
  if (kinds.some((kind) => secrets[kind].some((secret) => typeof secret !== "string")))
    throw new Error(`A secret is missing: ${JSON.stringify(secrets)}`);
  return {
    served,
    identified,
    secrets,
    own,
    asking: result.taskId,
    taskIds: ids,
    token,
    clients,
    newest: a,
    streams: { session, result: result.stream, call },
    questions: { ofTask, ofCall },
    requests: ["open-call", "open-result"],
    seen,
  };
}

async function streamOf(client: LegacyClient, tool: string) {
  const taskId = (await client.task(tool)).taskId as string;
  await client.poll(taskId, "input_required");
  return { taskId, stream: await client.open("tasks/result", { taskId }, { id: "open-result" }) };
}

/** Well formed and of the same length, and nobody was ever given it. */
export function neverGiven(kind: Kind, secret: string): string {
  if (kind === "task") return randomTaskId((bytes) => crypto.getRandomValues(bytes));
  if (kind === "event") return secret.replace(/^[^.]+/, (stream) => scrambled(stream));
  return scrambled(secret);
}

/** What stands first in a sealed token says only how it is sealed; the rest is as good as random. */
function scrambled(text: string): string {
  const bytes = decodeBase64url(text) as Uint8Array<ArrayBuffer>;
  crypto.getRandomValues(bytes.subarray(bytes.length > 17 ? 17 : 0));
  return encodeBase64url(bytes);
}
