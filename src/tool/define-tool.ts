import type * as z from "zod/v4/core";
import type { JsonObject } from "../task/json";
import type { AskKind, CallContext, TaskContext } from "./context";
import type { Fitting, FittingObject } from "./fitting";

/** When a call of the tool becomes a task; design decision 14. */
export type TaskSupport = "required" | "optional" | "forbidden";

export type ContentBlock = { readonly type: string; readonly [field: string]: unknown };

/**
 * Where a tool's tasks run. `object`: where the task is kept, which is quick and cheap; a run lasts 14 minutes at most.
 * `workflow`: in a Workflow of its own, for long jobs of many steps; each step may take its time, and work of the
 * processor in one step does not hold up the others.
 */
export type ToolRunner = "object" | "workflow";

/** An MCP `CallToolResult`, as a tool may return it whole. */
export type ToolResult = {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
};

/** Of `zod`, of `zod/mini` wrapped in `withJsonSchema`, or plain JSON Schema. What is typed here both zods build on. */
export type InputSchema = z.$ZodObject | JsonObject;
export type OutputSchema = z.$ZodType | JsonObject;

export type ArgumentsOf<I extends InputSchema> = I extends z.$ZodObject ? z.output<I> : FittingObject<I>;

/** A whole result; without `output` also plain text, with it a value that fits the output schema. */
export type Returned<O> = ToolResult | (O extends z.$ZodType ? z.input<O> : O extends JsonObject ? Fitting<O> : string);

export type ToolDefinition<I extends InputSchema, O extends OutputSchema | undefined> = {
  /** 1-128 of `[A-Za-z0-9_.-]`, unique in the deployment. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly input: I;
  readonly output?: O;
  readonly task: TaskSupport;
  /** Default `object`. A tool that runs as a Workflow is always a task. */
  readonly runs?: ToolRunner;
  /** What it may ask; a client that did not declare it is refused before anything starts, unless its model may answer. */
  readonly asks?: readonly AskKind[];
  /** ms; null is unlimited. Default `TASK_TTL_MS`. */
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
  /**
   * Longest run between suspensions, ms; at most 840000. In a Workflow, the longest step, at most a day; what lies
   * between two steps has four minutes at most, since the platform lays a Workflow to rest in which no step is going on.
   * Default `TASK_TIMEOUT_MS`.
   */
  readonly timeoutMs?: number;
  readonly maxAttempts?: number;
  /**
   * Recorded with each task. `compatible` says whether tasks begun by an earlier version may go on with this code;
   * without it only the same version may. Leave both out for a tool whose tasks always may.
   */
  readonly version?: string;
  readonly compatible?: (earlier: string | null) => boolean;
  readonly annotations?: JsonObject;
  /** What the schema cannot say: a sentence on what is wrong with arguments that fit it, for the caller to mend. */
  check?(args: ArgumentsOf<I>): string | undefined;
  /**
   * May ask and refuse before a task exists, in the request; where nobody could be asked before (A2A) it runs once in the
   * task, ahead of `run`. What it returns (JSON) is `task.prepared`.
   */
  prepare?(args: ArgumentsOf<I>, call: CallContext): Promise<unknown> | unknown;
  run(args: ArgumentsOf<I>, task: TaskContext): Promise<Returned<O>> | Returned<O>;
};

/**
 * Any tool, whatever its types: what the registry holds. The argument types are gone; only what the tool's own
 * `parseArguments` gave may be passed in.
 */
export type AnyTool = Omit<
  ToolDefinition<InputSchema, OutputSchema | undefined>,
  "output" | "check" | "prepare" | "run"
> & {
  readonly output?: OutputSchema | undefined;
  check?(args: unknown): string | undefined;
  prepare?(args: unknown, call: CallContext): unknown;
  /** Its tasks wait in this queue for workers elsewhere, and `run` is never called. */
  readonly queue?: string;
  run(args: unknown, task: TaskContext): unknown;
};

/** Declares a tool. Types flow from `input` to `run`; faults of the declaration are found by the registry at start. */
export function defineTool<const I extends InputSchema, const O extends OutputSchema | undefined = undefined>(
  tool: ToolDefinition<I, O>,
): AnyTool {
  return tool;
}

/** A failure whose message is for the caller: becomes a tool result with `isError`. Not retried unless `retry`. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly retry: boolean;
  constructor(message: string, options: { retry?: boolean } = {}) {
    super(message);
    this.retry = options.retry ?? false;
  }
}

/**
 * The tool will not do this, by its policy: before a task exists an error, of a task the outcome `rejected`. Never
 * retried. The message is for the caller.
 */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
}

/** A failure that is a JSON-RPC error on the wire: the task settles `failed` with it. Never retried. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
