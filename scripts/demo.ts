// A slow tool survives the death of its server: called by an official MCP client, killed in the middle, fetched after.
import { createHash, randomBytes } from "node:crypto";
import { resultFromTaskOutcome, type SerializedTaskReference } from "@modelcontextprotocol/ext-tasks/client";
import { startDevServer } from "./support/dev-server.ts";
import { serveFile } from "./support/file-server.ts";
import { connectTasksClient } from "./support/tasks-client.ts";

const PIECE_BYTES = 1024 * 1024;
const PIECES = 16;
const KILL_AFTER = 4;

const file = randomBytes(PIECES * PIECE_BYTES - 1000);
const downloads = await serveFile(file, { msPerRequest: 500 });
say(`A file of ${PIECES} MiB on a slow server that knows byte ranges: ${downloads.url}`);
const server = await startDevServer({ vars: { ALLOW_LOCAL_FETCH: "true" } });
const url = `${server.url}/mcp`;
say(`Holdfast, as \`npm run dev\` starts it: ${url}`);
try {
  const { reference, pieces } = await callAndWatch();
  await server.kill();
  say(`kill -9, the whole server, with ${pieces} pieces digested. Nobody got to say goodbye.`);
  await server.restart();
  say("Started again on the same disk. Nobody tells it what to do.");
  const result = await resume(reference);
  say("What came of it:");
  verify(result, pieces);
  console.log("\nThe task survived.");
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  console.error(`\nWhat the server printed:\n${server.output()}`);
  process.exitCode = 1;
} finally {
  await server.stop();
  await downloads.stop();
}

/** Calls the tool and looks on until some pieces are done; then lets go of the task without cancelling it. */
async function callAndWatch(): Promise<{ readonly reference: SerializedTaskReference; readonly pieces: number }> {
  const { client, session } = await connectTasksClient(url);
  const execution = await session.callTool("digest_download", { url: downloads.url, pieceBytes: PIECE_BYTES });
  if (execution.kind !== "task") throw new Error("The call should have become a task.");
  const reference = execution.serializeReference();
  say(`An official MCP client calls digest_download and gets a task: ${reference.taskId}`);
  for await (const event of execution.updates()) {
    if (event.type !== "task") throw new Error(`The task ended too early: ${JSON.stringify(event.outcome)}`);
    const pieces = tell(event.task);
    if (pieces < KILL_AFTER) continue;
    await execution.handoff(() => {});
    await client.close();
    return { reference, pieces };
  }
  throw new Error("The task's updates ended too early.");
}

/** Another client, which knows nothing but the task's reference. */
async function resume(reference: SerializedTaskReference): Promise<unknown> {
  const { client, session } = await connectTasksClient(url);
  const execution = await session.resumeTask(reference);
  say("A new client asks for the task by its id:");
  const { outcome } = await execution.settle({
    onEvent: (event) => {
      if (event.type === "task") tell(event.task);
    },
  });
  const { structuredContent } = resultFromTaskOutcome(outcome) as { readonly structuredContent?: unknown };
  await session.close();
  await client.close();
  return structuredContent;
}

/** Prints where the task stands, and says how many pieces that is. */
function tell({ status, statusMessage = "" }: { readonly status: string; readonly statusMessage?: string }): number {
  console.log(`     ${status.padEnd(10)} ${statusMessage}`);
  return Number(/^Piece (\d+)/.exec(statusMessage)?.[1] ?? 0);
}

/** `seen` pieces were reported before the kill; the last of them may not have been stored yet. */
function verify(result: unknown, seen: number): void {
  const { digest, pieceCount } = result as { readonly digest: string; readonly pieceCount: number };
  const expected = digestOf(file);
  check(`the digest is that of the file: ${digest}`, digest === expected && pieceCount === PIECES);
  const counts = Array.from({ length: PIECES }, (_, at) => downloads.requests.get(at * PIECE_BYTES) ?? 0);
  check(
    `each of the ${PIECES} pieces was fetched: ${counts.join(" ")} times`,
    counts.every((count) => count >= 1),
  );
  check(
    `the ${seen - 1} surely finished before the kill were not fetched again`,
    counts.slice(0, seen - 1).every((count) => count === 1),
  );
  const again = counts.reduce((sum, count) => sum + count, 0) - PIECES;
  check(`only what the kill cut off was fetched again: ${again} of ${PIECES} pieces`, again <= 1);
}

/** SHA-256 over the SHA-256 of each piece, as the tool's description says. */
function digestOf(bytes: Uint8Array): string {
  const whole = createHash("sha256");
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    whole.update(
      createHash("sha256")
        .update(bytes.subarray(at, at + PIECE_BYTES))
        .digest(),
    );
  }
  return whole.digest("hex");
}

function check(claim: string, holds: boolean): void {
  if (!holds) throw new Error(`It is not true that ${claim}.`);
  console.log(`     yes: ${claim}`);
}

function say(line: string): void {
  console.log(`\n  ${line}`);
}
