import {
  ALWAYS,
  answer,
  body,
  flag,
  json,
  list,
  object,
  parameter,
  refusals,
  schema,
  text,
  whole,
  WITH_BODY,
  type Examples,
  type Part,
} from "./parts.ts";
import { withExample } from "./parameters.ts";
import {
  ANSWER,
  ANYONE,
  ENDED,
  example,
  KEEPERS,
  NOW,
  ON_ONE,
  OWNER,
  QUESTION,
  record,
  refused,
  WHOSE,
} from "./record-parts.ts";
import { DOCUMENT, TTL } from "./schemas-of-records.ts";

const TERMINAL = {
  error: { code: "terminal", message: "The status of the record is final; nothing was changed." },
  record: ENDED,
};

/** A write that one path below a record takes. */
const write = (
  operationId: string,
  summary: string,
  members: Part | null,
  examples: Examples,
  answers: Examples,
): Part => ({
  operationId,
  summary,
  tags: ["records"],
  ...ANYONE,
  ...(members ? { requestBody: body(members, examples) } : {}),
  responses: {
    200: record("The record. `changed` is false where it meant nothing.", answers),
    ...refusals(...(members ? WITH_BODY : ALWAYS), 405),
  },
});

/** What happens to one record, and what is kept of it. */
export const recordActPaths: Part = {
  "/namespaces/{namespace}/records/{id}/status": {
    parameters: ON_ONE,
    put: withTerminal(
      write(
        "setStatus",
        "Set the status, with fields that go with it",
        { status: schema("Status"), "task?": schema("TaskFieldsWithoutStatus"), "document?": DOCUMENT, "ttlMs?": TTL },
        {
          ended: { status: "completed", task: { result: { shipped: 1 } } },
          terminal: { status: "failed", task: { error: { message: "too late" } } },
        },
        { ended: { ...ENDED, changed: true } },
      ),
    ),
  },
  "/namespaces/{namespace}/records/{id}/questions": {
    parameters: ON_ONE,
    put: write(
      "setQuestions",
      "Ask: joins what is open, and the status becomes `input_required`",
      { inputRequests: { type: "object", description: "By key; verbatim." } },
      { asked: { inputRequests: QUESTION } },
      { asked: { ...example(4, { status: "input_required", inputRequests: QUESTION }), changed: true } },
    ),
  },
  "/namespaces/{namespace}/records/{id}/responses": {
    parameters: ON_ONE,
    post: write(
      "resolveQuestions",
      "Answer: what is not open is ignored; with the last answer the status becomes `working`",
      { inputResponses: { type: "object", description: "By key; verbatim." } },
      { answered: { inputResponses: ANSWER } },
      { answered: { ...example(5, { inputResponses: ANSWER }), changed: true } },
    ),
  },
  "/namespaces/{namespace}/records/{id}/cancel": {
    parameters: ON_ONE,
    post: write(
      "cancelRecord",
      "Cancel; what has ended stays as it is",
      null,
      {},
      {
        unchanged: { ...ENDED, changed: false },
      },
    ),
  },
  "/namespaces/{namespace}/records/{id}/events": {
    parameters: ON_ONE,
    get: {
      operationId: "readEvents",
      summary: "Read the log of a record, or follow it",
      description:
        "One answer, which with `waitMs` waits for something new; it may begin with space while it waits. With " +
        "`Accept: text/event-stream` a stream that goes on until the record is gone: each entry an event whose `id` is " +
        "its `seq`. A bounded number of the newest entries is kept.",
      tags: ["records"],
      ...ANYONE,
      parameters: [withExample("After", "3"), parameter("Wait"), parameter("LastEventId")],
      responses: {
        200: {
          description: "What there is.",
          content: {
            ...json(schema("Entries"), {
              later: {
                entries: [
                  { seq: 4, at: NOW, version: 4, event: { kind: "asked", keys: ["approve"] } },
                  {
                    seq: 5,
                    at: NOW,
                    version: 5,
                    event: { kind: "answered", key: "approve", response: { action: "accept" } },
                  },
                ],
                cursor: 5,
                gone: false,
              },
            }),
            "text/event-stream": { schema: text("The `data` of each event is an Entry as JSON.") },
          },
        },
        ...refusals(...ALWAYS, 405),
        406: { description: "`not_acceptable`: Accept allows neither.", content: json(schema("Refused")) },
      },
    },
  },
  "/namespaces/{namespace}/records/{id}/revisions": {
    parameters: [withExample("Namespace", "documents"), withExample("Id", "invoice-1"), ...WHOSE.slice(1)],
    get: {
      operationId: "listRevisions",
      summary: "Read the kept saves of a document, the newest first",
      description: "For workers; where each owner's records are its own, for admins.",
      tags: ["records"],
      ...KEEPERS,
      parameters: [withExample("Owner", OWNER)],
      responses: {
        200: answer("The saves.", object({ revisions: list(schema("Revision")) }), {
          kept: { revisions: [{ version: 1, at: NOW, document: { total: 12.5 } }] },
        }),
        ...refusals(...ALWAYS),
      },
    },
  },
  "/namespaces/{namespace}/cleanup": {
    parameters: [parameter("Namespace"), ...WHOSE.slice(1)],
    post: {
      operationId: "cleanUp",
      summary: "Remove what has expired",
      description: "For workers; where each owner's records are its own, for admins, who name the owner.",
      tags: ["records"],
      ...KEEPERS,
      parameters: [withExample("Owner", OWNER)],
      requestBody: body(
        { defaultTtlMs: whole("Ended records without a ttl go when they are older than this, ms.", { minimum: 0 }) },
        { cleaned: { defaultTtlMs: 604_800_000 } },
      ),
      responses: {
        200: answer(
          "Done.",
          object({ removed: whole("How many went."), more: flag("Whether some are left: call again.") }),
          { cleaned: { removed: 0, more: false } },
        ),
        ...refusals(...WITH_BODY),
      },
    },
  },
};

function withTerminal(operation: Part): Part {
  const conflict = refused("`terminal`: the status is final; the first end stays.", { terminal: TERMINAL });
  return { ...operation, responses: { ...(operation["responses"] as Part), 409: conflict } };
}
