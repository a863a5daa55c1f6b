import { isLoopbackHostname } from "./loopback";

/** The settings that must agree with each other. */
type Values = {
  readonly TASK_MIN_TTL_MS: number;
  readonly TASK_TTL_MS: number | null;
  readonly TASK_MAX_TTL_MS: number | null;
  readonly TASK_SCOPING: "strict" | "lenient";
  readonly ALLOW_ANONYMOUS: boolean;
  readonly ALLOW_LOCAL_FETCH: boolean;
  readonly AUTH_TOKENS: unknown;
  readonly AUTH_ISSUER: string | null;
  readonly AUTH_AUDIENCE: string | null;
  readonly AUTH_JWKS_URL: string | null;
};

/** What is wrong with settings that are each right by themselves; empty when nothing is. */
export const faultsBetween = (values: Values): readonly string[] => [
  ...disorder(values),
  ...oauthFaults(values),
  ...scopingFaults(values),
];

/** TASK_MIN_TTL_MS ≤ TASK_TTL_MS ≤ TASK_MAX_TTL_MS, where null is unlimited. */
const disorder = (values: Values): readonly string[] =>
  (["TASK_MIN_TTL_MS", "TASK_TTL_MS"] as const).flatMap((low) => {
    const high = low === "TASK_TTL_MS" ? "TASK_MAX_TTL_MS" : "TASK_TTL_MS";
    const [from, to] = [values[low], values[high]];
    return (from ?? Infinity) <= (to ?? Infinity)
      ? []
      : `${low} must not be above ${high}; they are ${from ?? "unlimited"} and ${to} (the default where not set).`;
  });

const OAUTH = ["AUTH_ISSUER", "AUTH_AUDIENCE", "AUTH_JWKS_URL"] as const;

function oauthFaults(values: Values): readonly string[] {
  const missing = OAUTH.filter((name) => values[name] === null);
  if (missing.length === OAUTH.length) return [];
  const plain = (["AUTH_ISSUER", "AUTH_JWKS_URL"] as const).filter((name) => {
    const url = URL.parse(values[name] ?? "");
    return url?.protocol === "http:" && !(values.ALLOW_LOCAL_FETCH && isLoopbackHostname(url.hostname));
  });
  return [
    ...missing.map((name) => `${name} is missing; ${OAUTH.join(", ")} are set together or not at all.`),
    ...plain.map((name) => `${name} must be https; http is for this machine only, with ALLOW_LOCAL_FETCH.`),
  ];
}

/** Leniency next to anonymous callers would show everybody everything. */
function scopingFaults(values: Values): readonly string[] {
  if (values.TASK_SCOPING === "strict") return [];
  const identified = values.AUTH_TOKENS !== null || values.AUTH_ISSUER !== null;
  if (identified && !values.ALLOW_ANONYMOUS) return [];
  return [
    "TASK_SCOPING must be strict where anonymous callers are let in: set AUTH_TOKENS or AUTH_ISSUER, and not ALLOW_ANONYMOUS.",
  ];
}
