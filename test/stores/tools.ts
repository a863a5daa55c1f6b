import { defineTool, ToolError, type Returned } from "../../src/tool/define-tool";
import type { TaskContext } from "../../src/tool/context";
import { createRegistry } from "../../src/tool/registry";

const input = { type: "object" } as const;
type Run = (
  args: Readonly<Record<string, unknown>>,
  task: TaskContext,
) => Promise<Returned<undefined>> | Returned<undefined>;
const tool = (name: string, run: Run) =>
  defineTool({ name, description: name, input, task: "optional", asks: ["form", "url"], run });

/** The smallest tools that bring a task into each state. */
export const registry = createRegistry([
  tool("echo", (args) => String((args as { text?: string }).text ?? "")),
  tool("arguments", (args) => JSON.stringify(args)),
  tool("prepared", (_, task) => String(task.prepared)),
  tool("refuse", () => {
    throw new ToolError("It is refused.");
  }),
  tool(
    "hang",
    (_, task) =>
      new Promise((_resolve, reject) =>
        task.signal.addEventListener("abort", () => reject(task.signal.reason as Error)),
      ),
  ),
  tool("nap", async (args, task) => {
    await task.sleep((args as { until: number }).until);
    return "rested";
  }),
  tool("ask", async (_, task) => {
    const schema = { type: "object", properties: { v: { type: "string" } }, required: ["v"] };
    const { name } = await task.ask({ name: { kind: "form", message: "Name?", schema } });
    return JSON.stringify(name);
  }),
  tool("sign", async (_, task) => {
    await task.ask({ here: { kind: "url", message: "Sign here.", url: "https://example.com/sign" } });
    return "signed";
  }),
  tool("steps", async (args, task) => {
    const { texts } = args as { texts: readonly string[] };
    const stored: string[] = [];
    for (const [n, text] of texts.entries()) stored.push(await task.step(`step ${n}`, () => text));
    return stored.join("|");
  }),
  tool("report", async (_, task) => {
    task.progress({ message: "half way", progress: 1, total: 2 });
    await task.step("a step", () => 1);
    return "reported";
  }),
]);

export const accept = (v: unknown): string => JSON.stringify({ action: "accept", content: { v } });
