import type * as z from "zod/mini";
import { faultsBetween } from "./env-faults";
import type { Limits } from "./service/limits";
import type { Scope } from "./service/principal";
import type { Namespace } from "./record/record";
import {
  audience,
  bytes,
  flag,
  milliseconds,
  namespaces,
  oneOf,
  origins,
  orUnlimited,
  remoteTools,
  secretText,
  tokens,
  webUrl,
  whole,
  type Kind,
} from "./setting-kinds";
import { TaskError } from "./task/errors";
import type { RemoteTool } from "./tool/remote-tool";

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
  readonly a2a: {
    /** How long a send waits for its task when it does not ask to return at once. */
    readonly blockMs: number;
    /** Whether 0.3 is spoken too. */
    readonly legacy: boolean;
  };
  readonly allowedOrigins: readonly string[];
  readonly allowAnonymous: boolean;
  readonly allowLocalFetch: boolean;
  /** Null when the setting is absent. */
  readonly tokens: readonly TokenEntry[] | null;
  readonly oauth: OAuthSettings | null;
  readonly sealingKey: string | null;
  /** What the store API keeps; by name. */
  readonly namespaces: readonly Namespace[];
  /** Tools whose work is done elsewhere. */
  readonly remoteTools: readonly RemoteTool[];
};

/** One line of the README's table, which says what it is for: the Worker never needs to. */
export type Setting = {
  readonly name: string;
  /** Null: unset. */
  readonly default: string | null;
  /** What a value must be, in the words of the error that refuses it. */
  readonly range: string;
  /** Its value is repeated nowhere, not even in that error. */
  readonly secret: boolean;
};

/** Throws `misconfigured`, naming each variable that is wrong. What is no setting (other bindings) is let be. */
export function parseEnv(env: Readonly<Record<string, unknown>>): Config {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, { default: fallback, range, valueOf, secret, schema }] of Object.entries(TABLE)) {
    const text = textOf(env[name]) ?? fallback;
    const parsed = text === null ? null : schema.safeParse(valueOf(text));
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

const setting = <T, const D extends string | null>(fallback: D, kind: Kind<T>, secret = false) => ({
  default: fallback,
  ...kind,
  secret,
});

const TABLE = {
  TASK_TTL_MS: setting("86400000", orUnlimited(milliseconds())),
  TASK_MIN_TTL_MS: setting("60000", milliseconds()),
  TASK_MAX_TTL_MS: setting("2592000000", orUnlimited(milliseconds())),
  TASK_RETENTION_MS: setting("604800000", milliseconds()),
  TASK_POLL_INTERVAL_MS: setting("1000", milliseconds(250, 86_400_000)),
  TASK_TIMEOUT_MS: setting("600000", milliseconds(1, 840_000)),
  TASK_MAX_ATTEMPTS: setting("3", whole(1, 1000)),
  TASK_MAX_RESTARTS: setting("20", whole(0, 1000)),
  QUESTION_TTL_MS: setting("604800000", milliseconds()),
  RESERVATION_MS: setting("30000", milliseconds(1000, 3_600_000)),
  TASK_STORE: setting("durable", oneOf("durable", "memory")),
  TASK_SCOPING: setting("strict", oneOf("strict", "lenient")),
  MAX_TASKS_PER_OWNER: setting("10000", whole(1, 10_000_000)),
  MAX_LIVE_TASKS_PER_OWNER: setting("1000", whole(1, 10_000_000)),
  CREATES_PER_MINUTE: setting("600", whole(1, 1_000_000)),
  POLL_BURST: setting("120", whole(10, 1_000_000)),
  MAX_STREAMS_PER_OWNER: setting("50", whole(1, 10_000)),
  INLINE_WAIT_MS: setting("45000", milliseconds(0, 600_000)),
  A2A_BLOCK_MS: setting("300000", milliseconds(0, 3_600_000)),
  A2A_LEGACY: setting("true", flag()),
  MAX_BODY_BYTES: setting("4194304", bytes()),
  RESULT_LIMIT_BYTES: setting("10485760", bytes()),
  MAX_JSON_DEPTH: setting("64", whole(8, 512)),
  SWEEP_BUDGET: setting("1000", whole(10, 10_000)),
  ALLOWED_ORIGINS: setting(null, origins),
  ALLOW_ANONYMOUS: setting("false", flag()),
  ALLOW_LOCAL_FETCH: setting("false", flag()),
  AUTH_TOKENS: setting(null, tokens, true),
  AUTH_ISSUER: setting(null, webUrl),
  AUTH_AUDIENCE: setting(null, audience),
  AUTH_JWKS_URL: setting(null, webUrl),
  STORE_NAMESPACES: setting('[{ "name": "default" }, { "name": "documents", "kind": "document" }]', namespaces),
  REMOTE_TOOLS: setting("[]", remoteTools),
  SEALING_KEY: setting(null, secretText, true),
};

/** All of them, for whoever shows or checks the list: the Worker never does. */
export const settings = (): readonly Setting[] => Object.entries(TABLE).map(([name, row]) => ({ name, ...row }));

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
  a2a: { blockMs: values.A2A_BLOCK_MS, legacy: values.A2A_LEGACY },
  allowedOrigins: values.ALLOWED_ORIGINS ?? [],
  allowAnonymous: values.ALLOW_ANONYMOUS,
  allowLocalFetch: values.ALLOW_LOCAL_FETCH,
  tokens: values.AUTH_TOKENS,
  oauth:
    values.AUTH_ISSUER && values.AUTH_AUDIENCE && values.AUTH_JWKS_URL
      ? { issuer: values.AUTH_ISSUER, audience: values.AUTH_AUDIENCE, jwksUrl: values.AUTH_JWKS_URL }
      : null,
  sealingKey: values.SEALING_KEY,
  namespaces: values.STORE_NAMESPACES,
  remoteTools: values.REMOTE_TOOLS,
});
