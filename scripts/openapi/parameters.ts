import { STATUS } from "./schemas-of-records.ts";
import { text, whole, type Part } from "./parts.ts";

const inPath = (name: string, description: string, example: string): Part => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
  example,
});

const inQuery = (name: string, { description, ...schema }: Part): Part => ({ name, in: "query", description, schema });

const inHeader = (name: string, { description, ...schema }: Part): Part => ({
  name,
  in: "header",
  description,
  schema,
});

const yes = (description: string): Part => text(description, { const: "true" });

/** By the name under which operations refer to them. */
export const parameters: Readonly<Record<string, Part>> = {
  Namespace: inPath("namespace", "One that `STORE_NAMESPACES` names.", "default"),
  Id: inPath("id", "The record's id, percent-encoded: `t%2F1` is the record `t/1`.", "order-7"),
  Queue: inPath("queue", "1 to 64 of A-Z, a-z, 0-9, `_`, `.` and `-`.", "gpu"),
  Task: inPath("task", "A task's id, from its claim.", "iMPJ3tXK5kGqgK0G2F6bU7nWcYl1xRr8o0kq1v3sT9E"),
  Tool: inPath("name", "A tool's name.", "upscale"),
  Owner: inQuery("owner", text("For this owner. For workers and admins, as are the next two.", { minLength: 1 })),
  Unowned: inQuery("unowned", yes("For nobody: what belongs to no owner.")),
  Any: inQuery("any", yes("Without asking whose it is.")),
  Status: inQuery("status", { description: "Only records of this status.", ...STATUS }),
  Limit: inQuery("limit", whole("The most of one page; more than 100 is 100.", { minimum: 1, default: 50 })),
  Cursor: inQuery("cursor", text("The `nextCursor` of the page before.")),
  After: inQuery("after", whole("Only what has a greater `seq`.", { minimum: 0, default: 0 })),
  Wait: inQuery(
    "waitMs",
    whole("How long to wait, ms, while there is nothing.", { minimum: 0, maximum: 30_000, default: 0 }),
  ),
  LastEventId: inHeader("Last-Event-ID", text("Of a stream: the last `id` that was seen; counts more than `after`.")),
  IfMatch: inHeader(
    "If-Match",
    text('Write only if the record is still this version: its ETag, such as `"3"`; or `*`, if it is there.'),
  ),
  IfNoneMatch: inHeader("If-None-Match", text("Answer 304 if the record is still this version.")),
  IdempotencyKey: inHeader(
    "Idempotency-Key",
    text("1 to 255 visible ASCII characters: with the same key and body the same record is given again."),
  ),
};

/** The same parameter with the value that an operation's examples need. */
export const withExample = (name: string, example: string): Part => ({ ...parameters[name], example });
