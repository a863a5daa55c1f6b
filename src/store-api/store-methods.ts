import type { StoreApi } from "./api";

/** What the store API offers, for who calls it by name: the compiler wants each. */
export const STORE_METHODS = Object.keys({
  create: true,
  get: true,
  replace: true,
  merge: true,
  save: true,
  setStatus: true,
  setQuestions: true,
  resolve: true,
  cancel: true,
  remove: true,
  list: true,
  cleanup: true,
  events: true,
  revisions: true,
} satisfies Record<keyof StoreApi, true>) as readonly (keyof StoreApi)[];
