// A process of its own: `node resume-task.ts URL REFERENCE` resumes the task and prints its outcome as JSON.
import type { SerializedTaskReference } from "@modelcontextprotocol/ext-tasks/client";
import { connectTasksClient } from "../../scripts/support/tasks-client.ts";

const [url = "", reference = ""] = process.argv.slice(2);
const { client, session } = await connectTasksClient(url, {
  elicit: () => ({ action: "accept", content: { confirm: true } }),
});
const execution = await session.resumeTask(JSON.parse(reference) as SerializedTaskReference);
const { outcome } = await execution.settle();
console.log(JSON.stringify(outcome));
await session.close();
await client.close();
