import * as z from "zod/mini";
import { requireExactNumbers } from "../json";
import { isObject, type JsonObject } from "../task/json";
import { fieldName } from "../tool/field-name";
import { OLD, wireOf } from "./dialect";
import { A2aError } from "./errors";
import { jsonNames } from "./proto-names";
import { among, integer, matching, within } from "../tool/checks";

// The params of every method, in both generations. The SDK's own decoders take what is wrong for something else: a role
// they do not know, "false" for true, text for a number (measured). So nothing reaches them that these have not read.
// What they do not name is left out: a peer may send more than we know.

type Schema = z.ZodMiniType;

const string = z.string("must be a string");
const name = string.check(within(1, Infinity, "must not be empty"));
const atMost = (max: number) => within(0, max, `must be at most ${max} characters long`);
const text = (max: number) => name.check(atMost(max));
const flag = z.boolean("must be true or false");
const whole = (min: number, max: number, message: string) => integer(message).check(within(min, max, message));
const count = whole(0, 2 ** 31 - 1, "must be an integer of at least 0");
/** Of a longer one not even the first is read: each that does not fit is a complaint. */
const MAX_ENTRIES = 1000;
const list = (entry: Schema, message: string) =>
  z.pipe(
    z
      .unknown()
      .check(
        z.refine(
          (value) => !Array.isArray(value) || value.length <= MAX_ENTRIES,
          `must have at most ${MAX_ENTRIES} entries`,
        ),
      ),
    z.array(entry, message),
  );
const strings = list(string, "must be a list of strings");
const fitting = (pattern: RegExp, message: string) => string.check(matching(pattern, message));
// A guard and not `z.record`: zod's objects lose a key named `__proto__`, and these are the caller's own data.
const json = z.custom<JsonObject>(isObject, "must be an object");
const object = (shape: Readonly<Record<string, Schema>>) => z.object(shape, "must be an object");
const isBase64 = (value: string): boolean =>
  /^[A-Za-z0-9+/_-]*={0,2}$/.test(value) && value.replace(/=+$/, "").length % 4 !== 1;
const base64 = string.check(z.refine(isBase64, "must be base64"));
const isInstant = (value: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value));
const instant = string.check(z.refine(isInstant, "must be an ISO 8601 time with `Z` or an offset"));
const oneOf = (...names: readonly string[]) =>
  z.refine<Record<string, unknown>>(
    (value) => names.filter((key) => (value[key] ?? null) !== null).length === 1,
    `must have exactly one of ${names.map((key) => `"${key}"`).join(", ")}`,
  );
const STATES = "SUBMITTED WORKING COMPLETED FAILED CANCELED INPUT_REQUIRED REJECTED AUTH_REQUIRED UNSPECIFIED"
  .split(" ")
  .map((state) => `TASK_STATE_${state}`);

// What goes out in a header one day: no line ends in it.
const headerText = fitting(/^[\x20-\x7e]*$/, "must be printable ASCII");
const scheme = fitting(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, "must be the name of an HTTP authentication scheme");
const credentials = headerText.check(atMost(4096));
const webhook = (maybe: Maybe, authentication: Readonly<Record<string, Schema>>) => ({
  id: maybe(text(128)),
  url: text(2048),
  token: maybe(headerText.check(atMost(1024))),
  authentication: maybe(object({ ...authentication, credentials: maybe(credentials) })),
});

/** How a field may be left out. */
type Maybe = (schema: Schema) => Schema;

/** What a configuration of either generation may hold. */
const wishes = (maybe: Maybe) => ({ acceptedOutputModes: maybe(strings), historyLength: maybe(count) });

const send = (maybe: Maybe, role: string, part: Schema, configuration: Schema) =>
  object({
    message: object({
      messageId: text(256),
      role: among([role], `must be "${role}"`),
      parts: list(part, "must be a list").check(within(1, Infinity, "must have at least one part")),
      taskId: maybe(text(256)),
      contextId: maybe(text(256)),
      extensions: maybe(strings),
      referenceTaskIds: maybe(strings),
      metadata: maybe(json),
    }),
    configuration: maybe(configuration),
    metadata: maybe(json),
  });

function modern() {
  // ProtoJSON: null is as good as nothing.
  const maybe: Maybe = z.nullish;
  const part = object({
    text: maybe(string),
    raw: maybe(base64),
    url: maybe(name),
    data: maybe(z.unknown()),
    filename: maybe(string),
    mediaType: maybe(string),
    metadata: maybe(json),
  }).check(oneOf("text", "raw", "url", "data"));
  const push = { ...webhook(maybe, { scheme }), taskId: maybe(string) };
  const taskPushNotificationConfig = maybe(object(push));
  const configuration = object({ ...wishes(maybe), returnImmediately: maybe(flag), taskPushNotificationConfig });
  const message = send(maybe, "ROLE_USER", part, configuration);
  const config = object({ taskId: name, id: name });
  return {
    SendMessage: message,
    SendStreamingMessage: message,
    GetTask: object({ id: name, historyLength: maybe(count) }),
    ListTasks: object({
      contextId: maybe(string.check(atMost(256))),
      status: maybe(among(STATES, "must be the name of a task state, e.g. TASK_STATE_WORKING")),
      pageSize: maybe(whole(1, 100, "must be an integer from 1 to 100")),
      pageToken: maybe(string),
      historyLength: maybe(count),
      statusTimestampAfter: maybe(instant),
      includeArtifacts: maybe(flag),
    }),
    CancelTask: object({ id: name, metadata: maybe(json) }),
    SubscribeToTask: object({ id: name }),
    CreateTaskPushNotificationConfig: object({ ...push, taskId: name }),
    GetTaskPushNotificationConfig: config,
    ListTaskPushNotificationConfigs: object({ taskId: name, pageSize: maybe(count), pageToken: maybe(string) }),
    DeleteTaskPushNotificationConfig: config,
    GetExtendedAgentCard: object({}),
  };
}

function legacy() {
  const maybe: Maybe = z.optional;
  const file = object({ bytes: maybe(base64), uri: maybe(name), mimeType: maybe(string), name: maybe(string) });
  const part = object({
    kind: among(["text", "file", "data"], 'must be "text", "file" or "data"'),
    text: maybe(string),
    file: maybe(file.check(oneOf("bytes", "uri"))),
    data: maybe(json),
    metadata: maybe(json),
  }).check(z.refine((value) => value[String(value["kind"])] !== undefined, "must have the member that its kind names"));
  // Of several schemes the SDK takes the first, and says so in the log each time.
  const schemes = list(scheme, "must be a list").check(
    within(1, Infinity, "must name a scheme"),
    z.overwrite((all) => all.slice(0, 1)),
  );
  const push = object(webhook(maybe, { schemes }));
  const configuration = object({ ...wishes(maybe), blocking: maybe(flag), pushNotificationConfig: maybe(push) }).check(
    // As 0.3's own servers had it, and as it is without a configuration.
    z.overwrite(({ blocking = true, ...given }) => ({ ...given, blocking })),
  );
  const message = send(maybe, "user", part, configuration);
  const task = { id: name, metadata: maybe(json) };
  return {
    "message/send": message,
    "message/stream": message,
    "tasks/get": object({ ...task, historyLength: maybe(count) }),
    "tasks/cancel": object(task),
    "tasks/resubscribe": object(task),
    "tasks/pushNotificationConfig/set": object({ taskId: name, pushNotificationConfig: push }),
    "tasks/pushNotificationConfig/get": object({ id: name, pushNotificationConfigId: maybe(name) }),
    "tasks/pushNotificationConfig/list": object({ id: name }),
    "tasks/pushNotificationConfig/delete": object({ id: name, pushNotificationConfigId: name }),
    "agent/getAuthenticatedExtendedCard": object({}),
  };
}

type Params = ReturnType<typeof modern> & ReturnType<typeof legacy>;

export type Method = keyof Params;

/** Made when the first request wants them. */
let schemas: Params | undefined;

/** The params as the SDK's decoders may have them. `unsafeNumbers`: what was parsed is not what was sent. */
export function readParams(method: Method, params: unknown, unsafeNumbers = false): JsonObject {
  requireExactNumbers(unsafeNumbers);
  schemas ??= { ...modern(), ...legacy() };
  const read = schemas[method].safeParse(isObject(params) && wireOf(method) !== OLD ? jsonNames(params) : params);
  if (read.success) return read.data as JsonObject;
  const violations = read.error.issues
    .slice(0, 20)
    .map(({ path, message }) => ({ field: fieldName("", path).slice(1), description: message }));
  const [first] = violations;
  throw new A2aError("invalid", `${first?.field || "params"} ${first?.description}.`, { violations });
}

/** A query says in text what a body says in JSON (A2A 1.0 §11.5); text that says no such thing stays, to be refused. */
export function paramsOf(query: URLSearchParams): JsonObject {
  const valueOf = (key: string, value: string) => {
    if (/^(historyLength|pageSize)$/.test(key) && /^-?\d{1,15}$/.test(value)) return Number(value);
    return key === "includeArtifacts" && /^(true|false)$/.test(value) ? value === "true" : value;
  };
  const named = Object.entries(jsonNames(Object.fromEntries(query)));
  return Object.fromEntries(named.map(([key, value]) => [key, valueOf(key, String(value))]));
}
