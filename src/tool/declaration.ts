import { TaskError } from "../task/errors";
import type { AnyTool } from "./define-tool";

/** The helper tools of a bridged call, which every deployment serves itself. */
export const HELPER_TOOLS: readonly string[] = ["task_result", "task_answer", "task_cancel", "task_list"];

/** MCP 2026-07-28 tools §Tool Names. */
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;
export const QUEUE_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
/** An object's run is cut off by the platform after fifteen minutes; a step of a Workflow never. */
const LONGEST_TIMEOUT_MS = { object: 840_000, workflow: 86_400_000 };
const RUNNERS: readonly string[] = Object.keys(LONGEST_TIMEOUT_MS);
const SUPPORT: readonly string[] = ["required", "optional", "forbidden"];
const ASKS: readonly string[] = ["form", "url", "sampling", "roots"];
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

export const isToolName = (name: string): boolean => TOOL_NAME.test(name);

/** Finds at start what would otherwise fail in somebody's call. Plain JavaScript may declare tools too: types are not trusted. */
export function checkDeclaration(tool: AnyTool): void {
  const where = `Tool ${JSON.stringify(tool.name)}`;
  const demand = (holds: boolean, wants: string): void => {
    if (!holds) throw new TaskError("misconfigured", `${where}: ${wants}.`);
  };
  demand(
    typeof tool.name === "string" && isToolName(tool.name),
    "`name` must be 1 to 128 of A-Z, a-z, 0-9, `_`, `.` and `-`",
  );
  demand(!HELPER_TOOLS.includes(tool.name), "this name belongs to a built-in helper tool; choose another");
  demand(typeof tool.description === "string" && tool.description.trim() !== "", "`description` must not be empty");
  // Clients drop the whole list for one tool whose title or hint is of the wrong type.
  for (const title of [tool.title, tool.annotations?.["title"]]) {
    demand(["string", "undefined"].includes(typeof title), "`title` must be text");
  }
  const hints = HINTS.map((hint) => tool.annotations?.[hint]);
  demand(
    hints.every((hint) => ["boolean", "undefined"].includes(typeof hint)),
    "hints in `annotations` must be true or false",
  );
  demand(typeof tool.run === "function", "`run` must be a function");
  demand(SUPPORT.includes(tool.task), '`task` must be "required", "optional" or "forbidden"');
  const { runs = "object" } = tool;
  demand(RUNNERS.includes(runs), '`runs` must be "object" or "workflow"');
  demand(
    runs === "object" || tool.task !== "forbidden",
    '`task` must be "required" or "optional", since its work is done in a Workflow',
  );
  if (tool.queue !== undefined) {
    demand(tool.runs === undefined, "`runs` is for tools that run here, and this one runs at workers");
    demand(QUEUE_NAME.test(tool.queue), "`queue` must be 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`");
    // Nothing of it runs within a call.
    demand(tool.task !== "forbidden", '`task` must be "required" or "optional", since its work waits for a worker');
    demand(tool.prepare === undefined, "`prepare` is for tools that run here, and this one runs at workers");
  }
  demand(
    (tool.asks ?? []).every((kind) => ASKS.includes(kind)),
    '`asks` may list "form", "url", "sampling" and "roots"',
  );
  demand(isCount(tool.timeoutMs ?? 1), "`timeoutMs` must be a whole number of ms, at least 1");
  const longest = LONGEST_TIMEOUT_MS[runs];
  demand((tool.timeoutMs ?? 1) <= longest, `\`timeoutMs\` must be at most ${longest}`);
  demand(isCount(tool.ttlMs ?? 1), "`ttlMs` must be a whole number of ms, at least 1, or null for unlimited");
  demand(isCount(tool.pollIntervalMs ?? 1), "`pollIntervalMs` must be a whole number of ms, at least 1");
  demand(isCount(tool.maxAttempts ?? 1), "`maxAttempts` must be a whole number, at least 1");
  demand(tool.version !== "", "`version` must not be empty; leave it out instead");
  demand(tool.version !== undefined || tool.compatible === undefined, "`compatible` needs a `version` to compare with");
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
