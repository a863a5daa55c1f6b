// Is a deployment alive? One task for each tool that ships, one of them longer than half a minute with nobody attached.
// Usage: npm run smoke URL [token], where URL is the Worker's. DOWNLOAD_URL names another file to digest.
import { setTimeout as delay } from "node:timers/promises";
import { resultFromTaskOutcome, type ToolExecution } from "@modelcontextprotocol/ext-tasks/client";
import { connectTasksClient } from "./support/tasks-client.ts";

const [base, token] = process.argv.slice(2);
if (base === undefined || !URL.canParse(base)) {
  console.error("Usage: npm run smoke URL [token]\nURL is the Worker's, e.g. https://holdfast.example.workers.dev");
  process.exit(2);
}
const url = new URL("/mcp", base).href;
const download = process.env["DOWNLOAD_URL"] ?? "https://www.rfc-editor.org/rfc/rfc2119.txt";

const failed: string[] = [];
await smoke("digest_download", async () => {
  const result = await callAsTask("digest_download", { url: download });
  expect("a digest", /^[0-9a-f]{64}$/.test(String(result["digest"])));
});
await smoke("request_approval", async () => {
  const result = await callAsTask("request_approval", { action: "Let the smoke test pass" });
  expect("the decision that was given", result["decision"] === "approved");
});
await smoke("wait_until, more than 30 s with no client attached", async () => {
  const { client, session } = await connect();
  const execution = await session.callTool("wait_until", { seconds: 35 });
  const reference = taskOf(execution).serializeReference();
  await taskOf(execution).handoff(() => {});
  await client.close();
  say(`task ${reference.taskId}; leaving it alone for 36 s`);
  await delay(36_000);
  const later = await connect();
  const result = await finish(await later.session.resumeTask(reference));
  expect("an answer to the client that came back", typeof result["wokeAt"] === "string");
  await later.session.close();
  await later.client.close();
});
console.log(failed.length === 0 ? "\nAll is well." : `\nNot well: ${failed.join("; ")}.`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function smoke(name: string, check: () => Promise<void>): Promise<void> {
  console.log(`\n${name}`);
  try {
    await check();
    say("ok");
  } catch (error) {
    failed.push(name);
    say(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function connect() {
  const approve = { action: "accept", content: { decision: "approve", reason: "It is a smoke test." } } as const;
  return connectTasksClient(url, { token, elicit: () => approve });
}

async function callAsTask(tool: string, args: Record<string, string>): Promise<Record<string, unknown>> {
  const { client, session } = await connect();
  const result = await finish(await session.callTool(tool, args));
  await session.close();
  await client.close();
  return result;
}

async function finish(execution: ToolExecution<unknown>): Promise<Record<string, unknown>> {
  const task = taskOf(execution);
  const { outcome } = await task.settle({
    onEvent: (event) => {
      if (event.type === "task") say(`${event.task.status} ${event.task.statusMessage ?? ""}`.trimEnd());
    },
  });
  const result = resultFromTaskOutcome(outcome) as {
    readonly structuredContent?: Record<string, unknown>;
    readonly content: unknown;
    readonly isError?: boolean;
  };
  if (result.isError) throw new Error(`The tool reported an error: ${JSON.stringify(result.content)}`);
  say(JSON.stringify(result.structuredContent));
  return result.structuredContent ?? {};
}

function taskOf<T>(execution: ToolExecution<T>): Extract<ToolExecution<T>, { kind: "task" }> {
  if (execution.kind !== "task") throw new Error("The call was answered at once; it should have become a task.");
  return execution;
}

function expect(what: string, holds: boolean): void {
  if (!holds) throw new Error(`Expected ${what}.`);
}

function say(line: string): void {
  console.log(`  ${line}`);
}
