// A worker: claims the tasks of one queue, does them, and says what came of it.
//
//   HOLDFAST_URL=https://holdfast.example.com HOLDFAST_TOKEN=... HOLDFAST_QUEUE=render node scripts/worker.ts
//
// Your part is `work`. It may take hours: a heartbeat keeps the lease. Stopped or overtaken, it is told through `signal`.
import { setTimeout as pause } from "node:timers/promises";

type Task = { readonly taskId: string; readonly lease: string; readonly arguments: { readonly steps?: number } };
type Progress = { readonly message?: string; readonly progress?: number; readonly total?: number };

const { HOLDFAST_URL, HOLDFAST_TOKEN, HOLDFAST_QUEUE = "remote", HOLDFAST_LEASE_MS = "30000" } = process.env;
const api = `${HOLDFAST_URL ?? "http://127.0.0.1:8787"}/store/v1`;
const leaseMs = Number(HOLDFAST_LEASE_MS);
const authorization = HOLDFAST_TOKEN === undefined ? {} : { Authorization: `Bearer ${HOLDFAST_TOKEN}` };

/** The answer as it came; a refusal of what was asked (409: the lease is lost) is an answer too. */
async function post(path: string, body: object) {
  const headers = { "Content-Type": "application/json", ...authorization };
  const answer = await fetch(api + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok && answer.status !== 404 && answer.status !== 409) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as { kind?: string; claims?: Task[]; error?: { code: string } };
}

/** Counts to `steps`, a second each, and returns an MCP tool result. */
async function work({ steps = 1 }: Task["arguments"], report: (progress: Progress) => unknown, signal: AbortSignal) {
  for (let step = 1; step <= steps; step += 1) {
    await pause(1_000, undefined, { signal });
    await report({ message: `Step ${step}`, progress: step, total: steps });
  }
  return { content: [{ type: "text", text: `Counted to ${steps}.` }] };
}

async function serve(task: Task): Promise<void> {
  const { taskId, lease } = task;
  const tell = (act: string, more: object) => post(`/work/${taskId}/${act}`, { lease, ...more });
  const stopped = new AbortController();
  const beat = setInterval(() => {
    tell("heartbeat", { leaseMs }).then(
      ({ kind }) => kind === "held" || stopped.abort(),
      () => {},
    );
  }, leaseMs / 3);
  const end = await work(task.arguments, (progress) => tell("progress", { progress }), stopped.signal)
    .then((result) => tell("complete", { result }))
    .catch((error: unknown) =>
      stopped.signal.aborted ? { kind: "stopped" } : tell("fail", { error: { message: String(error) }, retry: true }),
    );
  clearInterval(beat);
  console.log(taskId, end.kind);
}

for (let claimId = crypto.randomUUID(); ;) {
  try {
    // The same id until an answer came: had the answer been lost, the same tasks come again.
    const { claims = [] } = await post(`/queues/${HOLDFAST_QUEUE}/claims`, {
      claimId,
      worker: "node",
      leaseMs,
      waitMs: 25_000,
    });
    claimId = crypto.randomUUID();
    for (const task of claims) await serve(task);
  } catch (error) {
    console.error("Cannot reach the server:", error);
    await pause(2_000);
  }
}
