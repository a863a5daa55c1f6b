import { outstanding, type Task } from "./task";

/** Where a task stands, as finely as any view tells it apart. No wire's own word: each has its own for it. */
export const STANDINGS = [
  "submitted",
  "working",
  "input_required",
  /** It waits for nothing but that somebody authorises it at a URL. */
  "auth_required",
  "done",
  "failed",
  "cancelled",
  "rejected",
] as const;

export type Standing = (typeof STANDINGS)[number];

type Stands = {
  readonly stage: Task["stage"];
  readonly open: readonly { readonly request: Task["questions"][number]["request"] }[];
};

export const standingOfTask = (task: Task): Standing => standingOf({ stage: task.stage, open: outstanding(task) });

/** `open`: the questions nobody has answered. */
export function standingOf({ stage, open }: Stands): Standing {
  switch (stage.phase) {
    case "submitted":
    case "working":
      return stage.phase;
    case "input_required":
      return open.length > 0 && open.every(({ request }) => request.params["mode"] === "url")
        ? "auth_required"
        : "input_required";
    case "settled":
      switch (stage.outcome.kind) {
        case "result":
          return stage.outcome.isError ? "failed" : "done";
        case "error":
        case "expired":
          return "failed";
        case "cancelled":
        case "rejected":
          return stage.outcome.kind;
      }
  }
}
