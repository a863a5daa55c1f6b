import type { Config, TokenEntry } from "./env";
import { onLoopbackHost } from "./loopback";
import type { Principal } from "./service/principal";

export type Authenticated =
  | { readonly kind: "principal"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly status: 401; readonly challenge: string; readonly message: string };

type AuthSettings = Pick<Config, "tokens" | "allowAnonymous">;

/** One way to tell who presents a token: null when it does not know it. Never logs it. */
type Verifier = (token: string) => Promise<Principal | null>;

/** Who is calling (design decision 10). The credential is read from `Authorization` only, on every request. */
export async function authenticate(request: Request, config: AuthSettings): Promise<Authenticated> {
  const verifiers = verifiersOf(config);
  const header = request.headers.get("authorization");
  if (header === null) {
    const open = verifiers.length === 0 && (config.allowAnonymous || onLoopbackHost(request));
    return open ? { kind: "principal", principal: { kind: "anonymous" } } : REFUSED;
  }
  // From here on a credential was presented: it is right or it is refused, also where anonymous callers are let in.
  const token = bearerToken(header);
  if (token === null) return REFUSED;
  for (const verify of verifiers) {
    const principal = await verify(token);
    if (principal !== null) return { kind: "principal", principal };
  }
  return REFUSED;
}

/**
 * One refusal for a missing, malformed and wrong credential, so that none tells more than another. Hence no `error`
 * in the challenge: RFC 6750 §3.1 has none for a request without a credential.
 */
const REFUSED: Authenticated = {
  kind: "refused",
  status: 401,
  challenge: 'Bearer realm="holdfast"',
  message:
    'Not authenticated. Send "Authorization: Bearer <token>" with a token that this server accepts; ' +
    "where it lets anonymous callers in, send no Authorization header at all.",
};

const verifiersOf = (config: AuthSettings): readonly Verifier[] =>
  config.tokens === null ? [] : [staticTokens(config.tokens)];

/** RFC 9110 §11.1: the scheme in any case, then spaces. Two `Authorization` headers arrive joined by ", " and match not. */
const bearerToken = (header: string): string | null => /^bearer +([\x21-\x7e]+)$/i.exec(header)?.[1] ?? null;

const staticTokens =
  (entries: readonly TokenEntry[]): Verifier =>
  async (token) => {
    const presented = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
    let found: TokenEntry | null = null;
    // Every entry is compared, whichever fits: the time taken says nothing about the list.
    for (const entry of entries) if (sameDigest(presented, fromHex(entry.sha256))) found = entry;
    if (found === null) return null;
    const { subject, scopes } = found;
    return { kind: "identified", issuer: "holdfast:token", subject, scopes, expiresAt: null };
  };

function sameDigest(a: Uint8Array, b: Uint8Array): boolean {
  // Workers have it; Node's WebCrypto does not.
  if (typeof crypto.subtle.timingSafeEqual === "function") return crypto.subtle.timingSafeEqual(a, b);
  let difference = 0;
  for (let at = 0; at < 32; at++) difference |= (a[at] ?? 256) ^ (b[at] ?? 256);
  return difference === 0;
}

const fromHex = (hex: string): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
