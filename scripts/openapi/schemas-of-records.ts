import { flag, list, object, orNull, schema, text, whole, type Part } from "./parts.ts";

export const STATUS = { type: "string", enum: ["working", "input_required", "completed", "failed", "cancelled"] };

const byKey = (description: string): Part => ({ type: "object", description });
const anyJson = (description: string): Part => ({ description });
const at = (description: string): Part => whole(`${description} Unix ms.`);

const TASK = {
  statusMessage: orNull(text("For people.")),
  pollIntervalMs: orNull(whole("Suggested to whoever polls, ms.", { minimum: 1 })),
  inputRequests: byKey("What is asked and not answered, by key. Verbatim."),
  inputResponses: byKey("Every answer received so far, by key. Verbatim."),
  result: anyJson("Any JSON, verbatim; null for none."),
  error: anyJson("Any JSON, verbatim; null for none."),
};

const optional = (members: Part): Part =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [`${name}?`, member]));

/** What a record has, as a request may give it. */
export const TTL = orNull(
  whole("From creation, ms; null for unlimited. What 0 means is the namespace's rule.", { minimum: 0 }),
);
export const DOCUMENT = byKey("A JSON object of the caller's own: kept byte for byte and never read.");

export const recordSchemas: Part = {
  Status: { ...STATUS, description: "The last three are final: a record never leaves them." },
  Task: object(
    { status: schema("Status"), ...TASK },
    { description: "What a record in a `task` namespace has beside its document." },
  ),
  TaskFields: object(optional({ status: schema("Status"), ...TASK }), { additionalProperties: false }),
  TaskFieldsWithoutStatus: object(optional(TASK), { additionalProperties: false }),
  Record: object({
    id: text("1 to 512 characters; not `.` or `..`."),
    namespace: text("Where it lies."),
    owner: orNull(text("Whose it is; null for nobody's. Never changes.")),
    version: whole("One more for each write; the ETag is this number in quotes."),
    createdAt: at("When it was made."),
    updatedAt: at("When it was last written; never goes back."),
    settledAt: orNull(at("When its status became final.")),
    ttlMs: TTL,
    seq: whole("The `seq` of the newest entry of its log."),
    task: { oneOf: [schema("Task"), { type: "null" }], description: "null in a `document` namespace." },
    document: DOCUMENT,
    "changed?": flag("In the answer to a write: whether it changed anything."),
  }),
  Refused: object(
    {
      error: schema("Problem"),
      "record?": { oneOf: [schema("Record"), { type: "null" }], description: "As it is now; null when it is missing." },
    },
    { description: "A refusal." },
  ),
  Problem: object({
    code: text("What went wrong, for programs."),
    message: text("A sentence for people."),
    "data?": object(
      {
        "limit?": text("The name of the limit."),
        "value?": whole("What the limit is."),
        "retryAfterMs?": whole("When to try again, ms from now."),
      },
      { description: "Facts, where there are any." },
    ),
  }),
  Entry: object({
    seq: whole("From 1, without gaps."),
    at: at("When."),
    version: whole("The record's version with it."),
    event: {
      oneOf: [
        object({
          kind: { enum: ["created", "written", "cancelled"] },
          status: { oneOf: [schema("Status"), { type: "null" }] },
        }),
        object({ kind: { const: "asked" }, keys: list({ type: "string" }) }),
        object({ kind: { const: "answered" }, key: { type: "string" }, response: anyJson("The answer, verbatim.") }),
      ],
      description: "What happened. Each answered question is one event, once.",
    },
  }),
  Entries: object({
    entries: list(schema("Entry")),
    cursor: whole("What to send as `after` next."),
    gone: flag("Whether the record went while it was waited for."),
  }),
  Revision: object({ version: whole("The record's version with this save."), at: at("When."), document: DOCUMENT }),
};
