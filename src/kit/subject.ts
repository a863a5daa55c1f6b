import type { StoreApi } from "../store-api/api";

/** Four callers with credentials of their own: two clients who know each other's ids, a worker, an admin. */
export type Caller = "client-a" | "client-b" | "worker" | "admin";

/**
 * A store under test, over whichever door. It keeps these namespaces, the default of each policy unless said otherwise:
 * `default` (tasks, owners apart), `documents` (documents, owners apart), `strict` (owners `strict`, not listed),
 * `lenient` (owners `lenient`), `none` (owners `none`, a ttl of 0 never expires), `files` (documents, owners `none`).
 * It may hold records of earlier cases: every case uses ids and owners of its own.
 */
export type Subject = {
  api(as: Caller): StoreApi;
  /** The store's clock, Unix ms. */
  now(): number;
  /** Moves the store's clock ahead. */
  advance(ms: number): void | Promise<void>;
  /** Evicts or restarts what can be, without losing what was stored. Left out where nothing survives that. */
  restart?(): Promise<void>;
};

/** One item of the contract. `run` rejects with a sentence that says what was expected and what came. */
export type ContractCase = {
  /** "A1", as the acceptance lists number it. */
  readonly id: string;
  readonly title: string;
  run(subject: Subject): Promise<void>;
};
