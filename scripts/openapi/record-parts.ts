import { answer, parameter, schema, security, type Examples, type Part } from "./parts.ts";

// What the operations on records have in common: one story of one order, told by their examples in turn.

export const OWNER = '["holdfast:token","ann"]';
export const NOW = 1_796_083_200_000;

const TASK = {
  status: "working",
  statusMessage: null,
  pollIntervalMs: null,
  inputRequests: {},
  inputResponses: {},
  result: null,
  error: null,
};

export const example = (version: number, task: object, document: object = { total: 12.5, paid: true }): Part => ({
  id: "order-7",
  namespace: "default",
  owner: OWNER,
  version,
  createdAt: NOW,
  updatedAt: NOW + version,
  settledAt: null,
  ttlMs: 86_400_000,
  seq: version,
  task: { ...TASK, ...task },
  document,
});

export const CREATED = example(1, {}, { total: 12.5 });
export const QUESTION = { approve: { method: "elicitation/create", params: { message: "Ship it?" } } };
export const ANSWER = { approve: { action: "accept" } };
export const ENDED = {
  ...example(6, { status: "completed", inputResponses: ANSWER, result: { shipped: 1 } }),
  settledAt: NOW,
};

export const WHOSE = [parameter("Owner"), parameter("Unowned"), parameter("Any")];
export const ON_ONE = [parameter("Namespace"), parameter("Id"), ...WHOSE];
export const ANYONE = security("client", "worker", "admin");
export const KEEPERS = security("worker", "admin");
export const ETAG = { ETag: { description: "The version, in quotes.", schema: { type: "string" } } };

export const record = (description: string, examples: Examples): Part =>
  answer(description, schema("Record"), examples, ETAG);

/** A refusal that tells the record as it is now. */
export const refused = (description: string, examples: Examples = {}): Part =>
  answer(description, schema("Refused"), examples, ETAG);
