import type { Clock } from "../clock";
import type { JsonObject } from "../task/json";
import type { Task } from "../task/task";
import type { LogLevel, TaskContext } from "../tool/context";
import type { Registry } from "../tool/registry";
import type { Limits } from "./limits";
import type { Elsewhere } from "./hand-over";
import type { Letters } from "./push-letter";
import type { SafeFetch } from "./safe-fetch";
import type { Sessions } from "./sessions";
import type { Mirror } from "./task-index";
import type { TaskShelf } from "./task-shelf";
import type { OpenQuestion, TaskFeedMessage } from "./task-store";

/** What the host of one task needs from whatever it is stored in. */
export type HostParts = Elsewhere & {
  readonly shelf: TaskShelf;
  readonly clock: Clock;
  readonly random: () => number;
  readonly registry: Registry;
  readonly limits: Limits;
  readonly fetch: TaskContext["fetch"];
  /** What push targets are told, and what sends it: over https only, where local addresses are not allowed. */
  readonly letters: Letters;
  readonly post: SafeFetch;
  /** Tells the owner's index; rejects when it cannot be reached. */
  readonly mirror: (task: Task, mirror: Mirror) => Promise<{ readonly watched: boolean }>;
  readonly touch: (task: Task) => Promise<{ readonly watched: boolean }>;
  /** Sends to whoever watches the task; after the last message the feeds are closed. */
  readonly announce: (message: TaskFeedMessage, last: boolean) => void;
  /** The open questions changed; `fresh` are the new ones. */
  readonly deliver: (open: readonly OpenQuestion[], fresh: readonly OpenQuestion[]) => void;
  /** Tells a session that a task of its own asks something. */
  readonly asking: Sessions["asking"];
  /** Keeps the process up for the work of a run. */
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: (level: LogLevel, message: string, data: JsonObject) => void;
};
