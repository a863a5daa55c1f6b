import { JWKSMultipleMatchingKeys } from "jose/errors";
import { jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from "jose/jwt/verify";
import type { JWTPayload } from "jose";
import type { Clock } from "./clock";
import type { OAuthSettings } from "./env";
import type { Principal, Scope } from "./service/principal";
import { TaskError } from "./task/errors";

/**
 * Tells who an access token of the authorization server is of: null when the token is not right in every respect (RFC
 * 9068 §4). Throws `overloaded` when that cannot be told.
 */
export const accessTokens =
  ({ issuer, audience }: OAuthSettings, keys: JWTVerifyGetKey, clock: Clock) =>
  async (token: string): Promise<Principal | null> => {
    try {
      const demands = {
        issuer,
        // Only tokens that were issued for this server (MCP 2026-07-28 authorization §Token Handling).
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: SKEW_S,
        currentDate: new Date(clock()),
      };
      return principalOf(await verified(token, keys, demands), issuer);
    } catch (error) {
      if (error instanceof TaskError) throw error;
      // The signature, a claim, the algorithm, the form: the caller learns no more than that the token is wrong.
      return null;
    }
  };

/** A token that does not name its key may fit several while they are rotated: then each is tried. */
async function verified(token: string, keys: JWTVerifyGetKey, demands: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, demands)).payload;
  } catch (error) {
    if (!(error instanceof JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      const fits = await jwtVerify(token, key, demands).catch(() => null);
      if (fits) return fits.payload;
    }
    throw error;
  }
}

/** What a scope is called in tokens and challenges: a bare `admin` may mean something else to the authorization server. */
export const tokenScope = (scope: Scope): string => `holdfast:${scope}`;

/** Where the metadata of a door is; the door's own path follows (RFC 9728 §3). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** Public keys only: with a shared secret, whoever can check tokens could also make them. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** How far the clocks of issuer and server may be apart. */
const SKEW_S = 30;

/** OpenID Connect Core §2 allows no longer ones; they are stored with each task. */
const MAX_SUBJECT_LENGTH = 255;

const SCOPES: readonly Scope[] = ["client", "worker", "admin"];

function principalOf(payload: JWTPayload, issuer: string): Principal | null {
  const { sub, exp } = payload;
  if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT_LENGTH || exp === undefined) return null;
  // Until the instant from which the token would be refused.
  const expiresAt = (exp + SKEW_S) * 1000;
  return { kind: "identified", issuer, subject: sub, scopes: scopesOf(payload), expiresAt };
}

/** `scope` (RFC 9068 §2.2.3) or `scp`, which some servers write. A token without either is a client's. */
function scopesOf({ scope, scp }: JWTPayload): readonly Scope[] {
  const claims = [scope, scp].filter((claim) => claim !== undefined);
  if (claims.length === 0) return ["client"];
  const names = claims.flatMap((claim) => (typeof claim === "string" ? claim.split(" ") : claim));
  return SCOPES.filter((name) => names.includes(tokenScope(name)));
}
