import {
  ALWAYS,
  answer,
  body,
  flag,
  json,
  list,
  object,
  orNull,
  parameter,
  refusals,
  schema,
  text,
  whole,
  WITH_BODY,
  type Part,
} from "./parts.ts";
import { withExample } from "./parameters.ts";
import { ANYONE, CREATED, example, ON_ONE, record, refused, WHOSE, ETAG } from "./record-parts.ts";
import { DOCUMENT, TTL } from "./schemas-of-records.ts";

const REPLACED = example(2, {}, { total: 12.5, paid: false });

/** Records as a whole. */
export const recordPaths: Part = {
  "/namespaces/{namespace}/records": {
    parameters: [parameter("Namespace"), ...WHOSE],
    post: {
      operationId: "createRecord",
      summary: "Store a record that is not there",
      description: "When it is answered, every other call finds it. What is left out has its default.",
      tags: ["records"],
      ...ANYONE,
      parameters: [parameter("IdempotencyKey")],
      requestBody: body(
        {
          "id?": text("1 to 512 characters, not `.` or `..`; left out, one is minted."),
          "ttlMs?": TTL,
          "task?": schema("TaskFields"),
          "document?": DOCUMENT,
          "maxRows?": orNull(whole("Refused with 429 if more records than these would lie there.", { minimum: 0 })),
        },
        {
          created: { id: "order-7", ttlMs: 86_400_000, document: { total: 12.5 } },
          taken: { id: "order-7" },
        },
      ),
      responses: {
        200: record("The same call came before, under the same Idempotency-Key.", {}),
        201: record("Stored.", { created: { ...CREATED, changed: true } }),
        ...refusals(...WITH_BODY, 429),
        409: answer(
          "`already_exists`: the id is in use. `conflict`: the key was used with another body.",
          schema("Refused"),
          {
            taken: { error: { code: "already_exists", message: "A record with this id is there already." } },
          },
        ),
      },
    },
    get: {
      operationId: "listRecords",
      summary: "List records, the newest first",
      tags: ["records"],
      ...ANYONE,
      parameters: [parameter("Status"), parameter("Limit"), parameter("Cursor")],
      responses: {
        200: answer(
          "A page. It may be shorter than `limit` and not the last.",
          object({ records: list(schema("Record")), nextCursor: orNull(text("null on the last page.")) }),
          { page: { records: [CREATED], nextCursor: null } },
        ),
        ...refusals(...ALWAYS),
      },
    },
  },
  "/namespaces/{namespace}/records/{id}": {
    parameters: ON_ONE,
    get: {
      operationId: "getRecord",
      summary: "Read a record",
      tags: ["records"],
      ...ANYONE,
      parameters: [parameter("IfNoneMatch")],
      responses: {
        200: record("The record.", { found: CREATED }),
        304: { description: "It is still the version that `If-None-Match` names.", headers: ETAG },
        ...refusals(...ALWAYS),
      },
    },
    put: {
      operationId: "putRecord",
      summary: "Replace a record as a whole, or save a document",
      description:
        "What is left out is gone, but for the status and the ttl. A record may be sent back as it was read. In a " +
        "`document` namespace a PUT without If-Match is a save: it also makes what was not there, and each is a revision.",
      tags: ["records"],
      ...ANYONE,
      parameters: [withExample("IfMatch", '"1"')],
      requestBody: {
        required: true,
        content: json(
          object({ document: DOCUMENT, "task?": { oneOf: [schema("TaskFields"), { type: "null" }] }, "ttlMs?": TTL }),
          {
            replaced: { document: { total: 12.5, paid: false } },
            stale: { document: { total: 0 } },
          },
        ),
      },
      responses: {
        200: record("Written.", { replaced: { ...REPLACED, changed: true } }),
        201: record("Saved for the first time.", {}),
        ...refusals(...WITH_BODY, 429),
        409: refused("`terminal`: the status is final. `conflict`: another's record has the id."),
        412: refused("`stale`: somebody wrote in between.", {
          stale: {
            error: { code: "stale", message: "The record has been written since; this is how it is now." },
            record: REPLACED,
          },
        }),
      },
    },
    patch: {
      operationId: "mergeRecord",
      summary: "Set fields, and members of the document, one by one",
      tags: ["records"],
      ...ANYONE,
      parameters: [withExample("IfMatch", '"2"')],
      requestBody: body(
        { "ttlMs?": TTL, "task?": schema("TaskFields"), "document?": DOCUMENT },
        { merged: { document: { paid: true } } },
      ),
      responses: {
        200: record("The record. `changed` is false where it was the same already.", {
          merged: { ...example(3, {}), changed: true },
        }),
        ...refusals(...WITH_BODY, 405),
        409: refused("`terminal`: the status is final."),
        412: refused("`stale`: somebody wrote in between."),
      },
    },
    delete: {
      operationId: "removeRecord",
      summary: "Remove a record",
      tags: ["records"],
      ...ANYONE,
      responses: {
        200: answer("Done.", object({ removed: flag("Whether it was there.") }), { removed: { removed: true } }),
        ...refusals(...ALWAYS),
      },
    },
  },
};
