import type { JWTVerifyGetKey } from "jose";
import { createLocalJWKSet } from "jose/jwks/local";
import type { Clock } from "./clock";
import { TaskError } from "./task/errors";

export type KeySource = {
  readonly url: string;
  readonly clock: Clock;
  readonly log?: (line: object) => void;
};

/** After this the keys are asked for again; so much longer at most is a key accepted that the issuer has withdrawn. */
const FRESH_MS = 600_000;
/** Whatever tokens name for keys, the issuer is not asked more often than this, */
const COOLDOWN_MS = 30_000;
/** nor, when it did not answer, than this. */
const RETRY_MS = 5_000;
const TIMEOUT_MS = 5_000;
const LOOK_MS = 20;

/**
 * An issuer's keys, kept as long as the isolate lives and renewed from where it publishes them. A key that is not among
 * them has the issuer asked again; when it cannot be, that is `overloaded`: such a token may be right. The keys at hand
 * go on being used while it is away.
 *
 * Only keys are shared between requests, never a promise: on Workers the request that started a fetch may be dropped,
 * and whoever waited for its promise would wait for ever.
 */
export function publishedKeys({ url, clock, log }: KeySource): JWTVerifyGetKey {
  let keys: JWTVerifyGetKey | null = null;
  let staleAt = -Infinity;
  let askAgainAt = -Infinity;
  let failed = false;
  /** While a request is asking; one that was dropped is not waited for any longer. */
  let busyUntil = -Infinity;

  async function ask(): Promise<void> {
    busyUntil = clock() + TIMEOUT_MS;
    try {
      const response = await fetch(url, {
        headers: { Accept: "application/jwk-set+json, application/json" },
        // To no other address than the one that was set.
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.status !== 200) throw new Error(`The answer has the status ${response.status}.`);
      keys = createLocalJWKSet(await response.json());
      staleAt = clock() + FRESH_MS;
      failed = false;
    } catch (error) {
      failed = true;
      log?.({ level: "warn", message: "AUTH_JWKS_URL gave no keys.", error: String(error) });
    }
    askAgainAt = clock() + (failed ? RETRY_MS : COOLDOWN_MS);
    busyUntil = -Infinity;
  }

  async function renew(): Promise<void> {
    while (clock() < busyUntil) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (clock() >= askAgainAt) await ask();
  }

  return async (header, token) => {
    if (keys === null) await renew();
    // Others go on with the keys at hand meanwhile.
    else if (clock() >= Math.max(staleAt, askAgainAt, busyUntil)) await ask();
    if (keys !== null) {
      const known = await keyIn(keys, header, token);
      if (known) return known;
      await renew();
    }
    if (keys === null || failed) throw unavailable(askAgainAt - clock());
    return keys(header, token);
  };
}

type Asked = Parameters<JWTVerifyGetKey>;

async function keyIn(keys: JWTVerifyGetKey, ...[header, token]: Asked) {
  try {
    return await keys(header, token);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_JWKS_NO_MATCHING_KEY") return null;
    throw error;
  }
}

const unavailable = (retryAfterMs: number): TaskError =>
  new TaskError("overloaded", "The keys that this token would be checked with cannot be had now. Try again.", {
    retryAfterMs: Math.max(1_000, retryAfterMs),
  });
