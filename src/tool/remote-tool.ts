import type { JsonObject } from "../task/json";
import { TaskError } from "../task/errors";
import type { AskKind } from "./context";
import type { AnyTool } from "./define-tool";

/** A tool whose work is done elsewhere: what is told of it, in JSON. Its tasks wait in a queue for workers to claim. */
export type RemoteTool = {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  /** JSON Schema whose root has `type: "object"`. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  /** 1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`. */
  readonly queue: string;
  /** Default `optional`. A call that must be answered at once cannot wait for a worker. */
  readonly task?: "required" | "optional";
  readonly asks?: readonly AskKind[];
  /** ms; null is unlimited. */
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
  readonly maxAttempts?: number;
  readonly annotations?: JsonObject;
};

/** As the registry takes it: also how the code declares a tool that runs at workers. */
export function remoteTool({ inputSchema, outputSchema, task, ...facts }: RemoteTool): AnyTool {
  return {
    ...facts,
    task: task ?? "optional",
    input: inputSchema,
    ...(outputSchema ? { output: outputSchema } : {}),
    run: () => {
      throw new TaskError("internal", "This tool runs at its workers.");
    },
  };
}
