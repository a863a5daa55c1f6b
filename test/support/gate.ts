import * as z from "zod";
import { defineTool, type AnyTool, type TaskSupport } from "../../src/tool/define-tool";

/** A tool that goes on until the test lets it, or it is stopped. */
export type Gate = {
  readonly tool: AnyTool;
  /** Lets all runs end, those to come too. */
  open(): void;
  /** Resolves once a run has begun. */
  readonly began: Promise<void>;
  /** Resolves once a run was told to stop. */
  readonly stopped: Promise<void>;
  /** How many runs there were. */
  readonly runs: () => number;
};

export function gate(name: string, task: TaskSupport, result: () => string = () => "through"): Gate {
  const opened = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  let runs = 0;
  const tool = defineTool({
    name,
    description: "Goes on until it may end.",
    input: z.object({ note: z.string().optional() }),
    task,
    async run(_, { signal, progress }) {
      runs += 1;
      began.resolve();
      progress({ progress: 0.5, total: 1 });
      await new Promise<void>((resolve, reject) => {
        void opened.promise.then(resolve);
        signal.addEventListener("abort", () => {
          stopped.resolve();
          reject(signal.reason as Error);
        });
      });
      return result();
    },
  });
  return { tool, open: opened.resolve, began: began.promise, stopped: stopped.promise, runs: () => runs };
}
