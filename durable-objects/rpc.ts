// What the objects offer each other and the store, as types: plain data in and out, expected outcomes as values.
import type { Sessions } from "../src/service/sessions";
import type { Examined, TaskIndex } from "../src/service/task-index";
import type { Command, Polled, ReadOptions, TaskSnapshot, Told } from "../src/service/task-store";
import type { WorkQueue } from "../src/service/work-queue";
import type { WorkAct, Worked } from "../src/service/work";
import type { JsonText } from "../src/task/json";
import type { Owner, TaskDraft } from "../src/task/task";
import { directoryName, ownerIndexName } from "./names";

/** The bindings storage needs, by their names in `wrangler.toml`. */
export type StorageBindings = {
  readonly TASKS: DurableObjectNamespace;
  readonly OWNERS: DurableObjectNamespace;
  readonly DIRECTORY: DurableObjectNamespace;
  readonly SESSIONS: DurableObjectNamespace;
  readonly QUEUES: DurableObjectNamespace;
  readonly RECORDS: DurableObjectNamespace;
  readonly TOOLS: DurableObjectNamespace;
};

export type TaskCreated =
  | { readonly kind: "created" | "existing"; readonly task: TaskSnapshot }
  | { readonly kind: "late" };

export interface TaskCalls {
  /** The first draft wins; a repeated create answers with what is stored. `late` from the deadline on. */
  create(draft: TaskDraft, deadline: number): Promise<TaskCreated>;
  read(owner: Owner, options?: ReadOptions): Promise<TaskSnapshot | null>;
  poll(owner: Owner, options?: ReadOptions): Promise<Polled | null>;
  tell(owner: Owner, command: Command): Promise<Told | null>;
  work(act: WorkAct): Promise<Worked | null>;
  /** Collects an expired task, sets a late one going again, and says where the task stands. */
  examine(): Promise<Examined>;
}

/** `mark` changes with every `note`. */
export type DirectoryEntry = { readonly name: string; readonly due: number; readonly mark: string };

export interface DirectoryCalls {
  /** This index object is due by then, or earlier if that was noted before. */
  note(name: string, due: number): Promise<void>;
  /** Entries due at `now`, earliest first, from after the given one. */
  due(now: number, limit: number, after?: DirectoryEntry): Promise<readonly DirectoryEntry[]>;
  /** Moves (or with null removes) an entry, unless it was noted again since it was seen. */
  settle(seen: DirectoryEntry, nextDue: number | null): Promise<void>;
}

/** A session's object has the port but for `attach`, which is its `fetch`. */
export type SessionCalls = Omit<Sessions, "attach">;

/** What was declared over the API, as JSON text by name. Its feed tells of each change, and first where it stands. */
export interface ToolsCalls {
  put(name: string, declaration: JsonText): Promise<"stored" | "full">;
  remove(name: string): Promise<boolean>;
  get(name: string): Promise<JsonText | null>;
  list(): Promise<readonly JsonText[]>;
}

export type ToolsMessage = { readonly revision: number };

/** What all kinds of feed take: `fetch` with an Upgrade header. */
export type Attachable = { fetch(url: string, init: RequestInit): Promise<Response> };

// Stubs are made for each call: one that saw its object reset is of no use afterwards. The casts say what the classes
// bound to these names implement; the generated RPC types cannot follow recursive JSON.
export const taskStub = (env: StorageBindings, hex: string): TaskCalls & Attachable =>
  env.TASKS.get(env.TASKS.idFromString(hex)) as unknown as TaskCalls & Attachable;

export const indexStub = (env: StorageBindings, name: string): TaskIndex & Attachable =>
  env.OWNERS.getByName(name) as unknown as TaskIndex & Attachable;

/** The index that keeps a task's row. */
export const indexOf = (
  env: StorageBindings,
  task: { readonly namespace: string; readonly owner: Owner; readonly id: string },
) => indexStub(env, ownerIndexName(task.namespace, task.owner, task.id));

export const sessionStub = (env: StorageBindings, key: string): SessionCalls & Attachable =>
  env.SESSIONS.getByName(key) as unknown as SessionCalls & Attachable;

/** A queue's object has the port but for `watch`, which is its `fetch`. */
export const queueStub = (env: StorageBindings, name: string): Omit<WorkQueue, "watch"> & Attachable =>
  env.QUEUES.getByName(name) as unknown as Omit<WorkQueue, "watch"> & Attachable;

/** There is one such object in a deployment. */
export const toolsStub = (env: StorageBindings): ToolsCalls & Attachable =>
  env.TOOLS.getByName("tools") as unknown as ToolsCalls & Attachable;

export const directoryStub = (env: StorageBindings, shard: number): DirectoryCalls =>
  env.DIRECTORY.getByName(directoryName(shard)) as unknown as DirectoryCalls;
