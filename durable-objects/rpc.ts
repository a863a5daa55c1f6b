// What the objects offer each other and the store, as types: plain data in and out, expected outcomes as values.
import type { Rank } from "../src/service/carrier";
import type { SessionRole, Sessions } from "../src/service/sessions";
import type { TaskCalls } from "../src/service/indexed-task-store";
import type { TaskIndex } from "../src/service/task-index";
import type { WorkQueue } from "../src/service/work-queue";
import type { JsonText } from "../src/task/json";
import type { Owner } from "../src/task/task";
import type { Crowd } from "./feed-socket";
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

/** What the Worker wants of a task's feed. */
export type TaskWish = Crowd & { readonly owner: Owner; readonly after: number | undefined; readonly deliver: Rank };

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

/** Who attaches to a session. */
export type SessionWish = Crowd & { readonly role: SessionRole };

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
