import * as z from "zod/mini";
import { faultsBetween } from "./env-faults";
import { parseOrigin } from "./origin";
import type { Limits } from "./service/limits";
import type { Scope } from "./service/principal";
import { TaskError } from "./task/errors";

export type OAuthSettings = { readonly issuer: string; readonly audience: string; readonly jwksUrl: string };

export type TokenEntry = { readonly sha256: string; readonly subject: string; readonly scopes: readonly Scope[] };

/** Every setting, parsed once. */
export type Config = {
  readonly limits: Limits;
  readonly store: "durable" | "memory";
  readonly maxBodyBytes: number;
  readonly maxJsonDepth: number;
  /** Object calls per cron run. */
  readonly sweepBudget: number;
  /** How long a call of a client without tasks is held open. */
  readonly inlineWaitMs: number;
  readonly allowedOrigins: readonly string[];
  readonly allowAnonymous: boolean;
  readonly allowLocalFetch: boolean;
  /** Null when the setting is absent. */
  readonly tokens: readonly TokenEntry[] | null;
  readonly oauth: OAuthSettings | null;
  readonly sealingKey: string | null;
};

/** One line of the README's table. */
export type Setting = {
  readonly name: string;
  /** Null: unset. */
  readonly default: string | null;
  /** What a value must be, in the words of the error that refuses it. */
  readonly range: string;
  readonly meaning: string;
  /** Its value is repeated nowhere, not even in that error. */
  readonly secret: boolean;
};

/** Throws `misconfigured`, naming each variable that is wrong. What is no setting (other bindings) is let be. */
export function parseEnv(env: Readonly<Record<string, unknown>>): Config {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, { default: fallback, range, secret, schema }] of Object.entries(TABLE)) {
    const text = textOf(env[name]) ?? fallback;
    const parsed = text === null ? null : schema.safeParse(text);
    if (parsed?.success === false) {
      faults.push(`${name} must be ${range}; ${secret ? whereWrong(parsed.error) : `it is ${quote(text)}`}.`);
    } else {
      values[name] = parsed?.data ?? null;
    }
  }
  // Each name of the table has what its own schema gave, unless there are faults.
  const parsed = values as Values;
  if (faults.length === 0) faults.push(...faultsBetween(parsed));
  if (faults.length > 0) throw new TaskError("misconfigured", faults.join(" "));
  return toConfig(parsed);
}

type Kind<T> = { readonly range: string; readonly schema: z.ZodMiniType<T, string> };

/** 100 years: any time plus this is still a date. */
const LONGEST_MS = 3_153_600_000_000;
/** What fits in one RPC message (32 MiB on Workers) when each character takes two bytes there. */
const LARGEST_BYTES = 15_728_640;

const turned = <A, B>(schema: z.ZodMiniType<A, string>, into: (value: A) => B) => z.pipe(schema, z.transform(into));
const whole = (min: number, max: number, what = "a whole number"): Kind<number> => ({
  range: `${what} from ${min} to ${max}`,
  schema: z.pipe(
    turned(z.string().check(z.regex(/^\d{1,15}$/)), Number),
    z.number().check(z.minimum(min), z.maximum(max)),
  ),
});
const milliseconds = (min = 1, max = LONGEST_MS) => whole(min, max, "a whole number of milliseconds");
const bytes = () => whole(1024, LARGEST_BYTES, "a whole number of bytes");
const orUnlimited = ({ range, schema }: Kind<number>): Kind<number | null> => ({
  range: `${range}, or "unlimited"`,
  schema: z.union([turned(z.literal("unlimited"), () => null), schema]),
});
const oneOf = <const T extends string>(...options: readonly T[]): Kind<T> => ({
  range: options.map((option) => `"${option}"`).join(" or "),
  schema: z.enum(options),
});
const flag = (): Kind<boolean> => {
  const { range, schema } = oneOf("true", "false");
  return { range, schema: turned(schema, (text) => text === "true") };
};
const origins: Kind<readonly string[]> = {
  range: 'a comma-separated list of origins such as "https://app.example, http://localhost:3000"',
  schema: z.pipe(
    turned(z.string(), (text) => text.split(",").map((item) => parseOrigin(item.trim()))),
    z.array(z.string()),
  ),
};
const tokens: Kind<readonly TokenEntry[]> = {
  range:
    'a JSON list such as [{ "sha256": "<SHA-256 of the token, 64 hex digits>", "subject": "alice", "scopes": ["client"] }] ' +
    "with at least one entry, no token twice, and scopes among client, worker and admin",
  schema: z.pipe(
    turned(z.string(), parsedOrNull),
    z
      .array(
        z.strictObject({
          sha256: z.string().check(z.toLowerCase(), z.regex(/^[0-9a-f]{64}$/)),
          subject: z.string().check(z.minLength(1), z.maxLength(256)),
          scopes: z.array(z.enum(["client", "worker", "admin"])).check(z.minLength(1)),
        }),
      )
      .check(
        z.minLength(1),
        z.refine((entries) => new Set(entries.map((entry) => entry.sha256)).size === entries.length),
      ),
  ),
};
const webUrl: Kind<string> = {
  range: "an absolute https URL without query and fragment",
  schema: z.string().check(z.refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? "") && !/[?#]/.test(text))),
};
const audience: Kind<string> = {
  range: 'a name of 2 to 1024 characters without spaces, such as "https://holdfast.example/mcp"',
  schema: z.string().check(z.regex(/^\S{2,1024}$/)),
};
const secretText: Kind<string> = {
  range: "a secret text of at least 32 characters, such as `openssl rand -base64 32` prints",
  schema: z.string().check(z.minLength(32)),
};

const setting = <T, const D extends string | null>(
  fallback: D,
  { range, schema }: Kind<T>,
  meaning: string,
  secret = false,
) => ({
  default: fallback,
  range,
  schema,
  meaning,
  secret,
});

const TABLE = {
  TASK_TTL_MS: setting(
    "86400000",
    orUnlimited(milliseconds()),
    "ttl of a task when neither caller nor tool asked for one",
  ),
  TASK_MIN_TTL_MS: setting(
    "60000",
    milliseconds(),
    "smaller ttls are raised to this; also the time left to fetch a result",
  ),
  TASK_MAX_TTL_MS: setting("2592000000", orUnlimited(milliseconds()), "larger ttls are lowered to this"),
  TASK_RETENTION_MS: setting("604800000", milliseconds(), "how long settled tasks without a ttl are kept"),
  TASK_POLL_INTERVAL_MS: setting("1000", milliseconds(250, 86_400_000), "poll interval suggested to clients"),
  TASK_TIMEOUT_MS: setting("600000", milliseconds(1, 840_000), "longest run of a tool between suspensions"),
  TASK_MAX_ATTEMPTS: setting("3", whole(1, 1000), "failed attempts before a task fails"),
  TASK_MAX_RESTARTS: setting("20", whole(0, 1000), "runs a task may lose to restarts of the platform before it fails"),
  QUESTION_TTL_MS: setting("604800000", milliseconds(), "how long a question without a deadline of its own waits"),
  RESERVATION_MS: setting("30000", milliseconds(1000, 3_600_000), "a reserved task not stored by then is dropped"),
  TASK_STORE: setting(
    "durable",
    oneOf("durable", "memory"),
    "where tasks live; memory keeps nothing, for trials and tests",
  ),
  TASK_SCOPING: setting(
    "strict",
    oneOf("strict", "lenient"),
    "lenient opens tasks made by nobody to every identified caller; needs an auth setting",
  ),
  MAX_TASKS_PER_OWNER: setting("10000", whole(1, 10_000_000), "stored tasks of one owner; exact"),
  MAX_LIVE_TASKS_PER_OWNER: setting("1000", whole(1, 10_000_000), "tasks of one owner not yet settled"),
  CREATES_PER_MINUTE: setting(
    "600",
    whole(1, 1_000_000),
    "new tasks of one owner, or of one anonymous address, in a minute",
  ),
  POLL_BURST: setting(
    "120",
    whole(10, 1_000_000),
    "polls of one task that are free; more must keep to ten times the advertised rate",
  ),
  MAX_STREAMS_PER_OWNER: setting("50", whole(1, 10_000), "streams open at one owner's feed, and as many at one task"),
  INLINE_WAIT_MS: setting("45000", milliseconds(0, 600_000), "how long a call of a client without tasks is held open"),
  MAX_BODY_BYTES: setting("4194304", bytes(), "largest request body"),
  RESULT_LIMIT_BYTES: setting("10485760", bytes(), "largest stored result, arguments or answer"),
  MAX_JSON_DEPTH: setting("64", whole(8, 512), "deepest nesting of a request body"),
  SWEEP_BUDGET: setting("1000", whole(10, 10_000), "object calls one cron run may make; the free plan allows 50"),
  ALLOWED_ORIGINS: setting(null, origins, "web origins that may call, besides local ones on a local server"),
  ALLOW_ANONYMOUS: setting("false", flag(), "lets callers without a credential in on hosts that are not local"),
  ALLOW_LOCAL_FETCH: setting("false", flag(), "for development: URLs a caller gives may be local"),
  AUTH_TOKENS: setting(null, tokens, "who may call: hashes of bearer tokens, and whose they are", true),
  AUTH_ISSUER: setting(null, webUrl, "OAuth: the authorization server, as its tokens spell it in `iss`"),
  AUTH_AUDIENCE: setting(null, audience, "OAuth: what its tokens for this server carry as `aud`"),
  AUTH_JWKS_URL: setting(null, webUrl, "OAuth: where it publishes its keys"),
  SEALING_KEY: setting(null, secretText, "seals what clients carry for us; unset, a key is minted and kept", true),
};

export const SETTINGS: readonly Setting[] = Object.entries(TABLE).map(
  ([name, { default: fallback, range, meaning, secret }]) => ({ name, default: fallback, range, meaning, secret }),
);

type Table = typeof TABLE;
type Values = {
  readonly [K in keyof Table]: z.output<Table[K]["schema"]> | (Table[K]["default"] extends string ? never : null);
};

/** Numbers, booleans and lists of `wrangler.toml` reach `env` as such. Blank is unset. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = Array.isArray(value) ? JSON.stringify(value) : String(value).trim();
  return text === "" ? null : text;
}

const quote = (text: string | null): string =>
  JSON.stringify(text !== null && text.length > 100 ? `${text.slice(0, 100)}…` : text);

/** The place of the fault, never what stands there: positions, and names that we gave ourselves. */
const whereWrong = ({ issues: [issue] }: z.core.$ZodError): string =>
  issue === undefined || issue.path.length === 0 ? "it is not" : `it is not, at ${issue.path.join(".")}`;

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const toConfig = (values: Values): Config => ({
  limits: {
    ttlMs: values.TASK_TTL_MS,
    minTtlMs: values.TASK_MIN_TTL_MS,
    maxTtlMs: values.TASK_MAX_TTL_MS,
    retentionMs: values.TASK_RETENTION_MS,
    pollIntervalMs: values.TASK_POLL_INTERVAL_MS,
    timeoutMs: values.TASK_TIMEOUT_MS,
    maxAttempts: values.TASK_MAX_ATTEMPTS,
    maxRestarts: values.TASK_MAX_RESTARTS,
    questionTtlMs: values.QUESTION_TTL_MS,
    reservationMs: values.RESERVATION_MS,
    maxTasksPerOwner: values.MAX_TASKS_PER_OWNER,
    maxLiveTasksPerOwner: values.MAX_LIVE_TASKS_PER_OWNER,
    createsPerMinute: values.CREATES_PER_MINUTE,
    pollBurst: values.POLL_BURST,
    maxStreamsPerOwner: values.MAX_STREAMS_PER_OWNER,
    resultLimitBytes: values.RESULT_LIMIT_BYTES,
    scoping: values.TASK_SCOPING,
  },
  store: values.TASK_STORE,
  maxBodyBytes: values.MAX_BODY_BYTES,
  maxJsonDepth: values.MAX_JSON_DEPTH,
  sweepBudget: values.SWEEP_BUDGET,
  inlineWaitMs: values.INLINE_WAIT_MS,
  allowedOrigins: values.ALLOWED_ORIGINS ?? [],
  allowAnonymous: values.ALLOW_ANONYMOUS,
  allowLocalFetch: values.ALLOW_LOCAL_FETCH,
  tokens: values.AUTH_TOKENS,
  oauth:
    values.AUTH_ISSUER === null || values.AUTH_AUDIENCE === null || values.AUTH_JWKS_URL === null
      ? null
      : { issuer: values.AUTH_ISSUER, audience: values.AUTH_AUDIENCE, jwksUrl: values.AUTH_JWKS_URL },
  sealingKey: values.SEALING_KEY,
});
