import * as z from "zod/mini";
import { STATUSES } from "../record/record";
import { TaskError } from "../task/errors";
import { isObject, type JsonObject } from "../task/json";
import { LEASE_RANGE_MS } from "../service/work";
import { fieldName, quoted } from "../tool/field-name";
import { checkZod } from "../tool/zod-schema";
import { among, integer, within } from "../tool/checks";
import type { StoreContext } from "./deps";

// Strict, unlike the schemas of a protocol: a mistyped name would otherwise be a wish that nobody heard.

const count = (from: number, to?: number) => integer().check(within(from, to));
/** What is the caller's own is looked at no further; its very text is taken from the body. */
const anything = z.optional(z.unknown());
// A guard and not `z.record`: zod's objects lose a key named `__proto__`.
const object = z.custom<object>(isObject, "must be an object.");

const status = among(STATUSES);
const countOrNull = z.optional(z.nullable(count(0)));
const fieldsBesideStatus = {
  statusMessage: z.optional(z.nullable(z.string())),
  pollIntervalMs: z.optional(z.nullable(count(1))),
  inputRequests: z.optional(object),
  inputResponses: z.optional(object),
  result: anything,
  error: anything,
};
const taskFields = z.strictObject({ status: z.optional(status), ...fieldsBesideStatus });

const content = { ttlMs: countOrNull, task: z.optional(taskFields), document: z.optional(object) };

export const CreateBody = z.strictObject({ ...content, id: z.optional(z.string()), maxRows: countOrNull });

/** A record may be sent back as it was read: what nobody can change is passed over. */
const asRead = {
  id: anything,
  namespace: anything,
  owner: anything,
  version: anything,
  createdAt: anything,
  updatedAt: anything,
  settledAt: anything,
  seq: anything,
  changed: anything,
};

export const ReplaceBody = z.strictObject({ ...asRead, ...content, document: object });

/** A save keeps the ttl. */
export const SaveBody = z.strictObject({
  ...asRead,
  ...content,
  task: z.optional(z.custom<null>((value) => value === null, "must be null.")),
  document: object,
});

export const MergeBody = z.strictObject(content);

export const StatusBody = z.strictObject({
  ...content,
  status,
  task: z.optional(z.strictObject(fieldsBesideStatus)),
});

export const QuestionsBody = z.strictObject({ inputRequests: object });
export const ResponsesBody = z.strictObject({ inputResponses: object });
export const CleanupBody = z.strictObject({ defaultTtlMs: count(0) });

/** Of the values of a query, which are texts, these are read as numbers. */
const NUMBERS: readonly string[] = ["limit", "after", "waitMs"];
const yes = z.optional(among(["true"]));
/** For whom: one of the three, or none. */
const whose = { owner: z.optional(z.string().check(within(1))), unowned: yes, any: yes };

/** The longest wait of one request, ms: proxies cut off what takes a minute. */
export const LONGEST_WAIT_MS = 30_000;

export const AsQuery = z.strictObject(whose);
export const ListQuery = z.strictObject({
  ...whose,
  status: z.optional(status),
  limit: z.optional(count(1)),
  cursor: z.optional(z.string()),
});
export const EventsQuery = z.strictObject({
  ...whose,
  after: z.optional(count(0)),
  waitMs: z.optional(count(0, LONGEST_WAIT_MS)),
});
export const NoQuery = z.strictObject({});

const text = (longest?: number) => z.string().check(within(1, longest));
const lease = text();
const leaseMs = z.optional(count(LEASE_RANGE_MS.shortest, LEASE_RANGE_MS.longest));
const inputRequest = z.strictObject({
  method: among(["elicitation/create", "sampling/createMessage", "roots/list"]),
  params: z.custom<JsonObject>(isObject, "must be an object."),
});

export const ClaimBody = z.strictObject({
  claimId: text(200),
  worker: z.optional(text(200)),
  max: z.optional(count(1, 100)),
  waitMs: z.optional(count(0, LONGEST_WAIT_MS)),
  leaseMs,
  tools: z.optional(z.nullable(z.array(z.string()).check(within(0, 100)))),
});
export const HeartbeatBody = z.strictObject({ lease, leaseMs });
export const ProgressBody = z.strictObject({
  lease,
  progress: z.strictObject({
    message: z.optional(z.string()),
    progress: z.optional(z.number()),
    total: z.optional(z.number()),
  }),
  leaseMs,
});
const AskBody = z.strictObject({ lease, questions: object, timeoutMs: z.optional(count(1)) });
export const CompleteBody = z.strictObject({ lease, result: z.unknown() });
export const FailBody = z.strictObject({
  lease,
  error: z.strictObject({ code: z.optional(integer()), message: text(), data: anything }),
  retry: z.optional(z.boolean()),
});
export const ReleaseBody = z.strictObject({ lease });

export type TaskFieldsBody = z.output<typeof taskFields>;
export type WhoseQuery = z.output<typeof AsQuery>;

/** An ask, whatever the keys of its questions are called. */
export function askOf(c: StoreContext) {
  const asked = bodyOf(c, AskBody);
  const questions = Object.entries(asked.questions).map(
    ([key, question]) => [key, read(inputRequest, question, fieldName("body.questions", [key]))] as const,
  );
  return { ...asked, questions: Object.fromEntries(questions) };
}

export const bodyOf = <S extends z.ZodMiniType>(c: StoreContext, schema: S): z.output<S> =>
  read(schema, c.var.posted.value);

/** Throws `invalid` with a sentence that names the place; `root` is what the place is named from. */
export function read<S extends z.ZodMiniType>(schema: S, value: unknown, root = "body"): z.output<S> {
  const checked = checkZod(schema, value, root);
  if (!checked.ok) throw new TaskError("invalid", checked.message);
  return checked.value as z.output<S>;
}

/** A query's names with their values. Twice the same name would leave open which one is meant. */
export function queryOf<S extends z.ZodMiniType>(c: StoreContext, schema: S): z.output<S> {
  const query = Object.entries(c.req.queries()).map(([name, values]) => {
    if (values.length > 1) throw new TaskError("invalid", `The query has ${quoted(name)} more than once.`);
    return [name, NUMBERS.includes(name) ? wholeNumber(name, values[0]) : values[0]];
  });
  return read(schema, Object.fromEntries(query), "query");
}

function wholeNumber(name: string, text = ""): number {
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw new TaskError("invalid", `query.${name} must be a whole number.`);
}
