import type { Config, TokenEntry } from "./env";
import { publishedKeys, type KeySource } from "./jwks";
import { onLoopbackHost } from "./loopback";
import { accessTokens, METADATA_PATH, tokenScope } from "./oauth";
import { scopesOf, type Principal, type Scope } from "./service/principal";

/** One of the ways in: its path, and the scopes of which any opens it, the least first. */
export type Door = { readonly path: string; readonly scopes: readonly [Scope, ...Scope[]] };

export type Authenticated =
  | { readonly kind: "principal"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly challenge: string; readonly message: string };

/**
 * Who is calling (design decision 10). The credential is read from `Authorization` only, on every request. Throws
 * `overloaded` when that cannot be told now.
 */
export type Authenticate = (request: Request, door: Door) => Promise<Authenticated>;

type AuthSettings = Pick<Config, "tokens" | "oauth" | "allowAnonymous">;

type AuthDeps = Omit<KeySource, "url">;

/** One way to tell who presents a token: null when it does not know it. Never logs it. */
type Verifier = (token: string) => Promise<Principal | null>;

/** One for all doors: it keeps the keys of the authorization server. */
export function authenticator(config: AuthSettings, deps: AuthDeps): Authenticate {
  const verifiers = verifiersOf(config, deps);

  async function principalOf(request: Request): Promise<Principal | null> {
    const header = request.headers.get("authorization");
    if (header === null) {
      if (verifiers.length > 0) return null;
      const local = onLoopbackHost(request);
      return local || config.allowAnonymous ? anonymous(request.headers.get("cf-connecting-ip"), local) : null;
    }
    // From here on a credential was presented: it is right or it is refused, also where anonymous callers are let in.
    const token = bearerToken(header);
    if (token === null) return null;
    for (const verify of verifiers) {
      const principal = await verify(token);
      if (principal !== null) return principal;
    }
    return null;
  }

  return async (request, door) => {
    const principal = await principalOf(request);
    if (principal !== null && mayEnter(principal, door)) return { kind: "principal", principal };
    const where = config.oauth && `${new URL(request.url).origin}${METADATA_PATH}${door.path}`;
    return principal === null ? unauthenticated(door, where) : insufficient(door, where);
  };
}

/** The platform says where the request came from; elsewhere nobody does. */
const anonymous = (address: string | null, local: boolean): Principal => ({
  kind: "anonymous",
  ...(address === null ? {} : { address }),
  ...(local ? { local } : {}),
});

/** `admin` includes the other scopes; `worker` includes none. */
const mayEnter = (principal: Principal, { scopes }: Door): boolean =>
  scopesOf(principal).some((scope) => scopes.includes(scope));

/**
 * One refusal for a missing, malformed and wrong credential, so that none tells more than another. Hence no `error`
 * in the challenge: RFC 6750 §3.1 has none for a request without a credential.
 */
const unauthenticated = (door: Door, where: string | null): Authenticated => ({
  kind: "refused",
  status: 401,
  challenge: challenge(where === null ? {} : { scope: tokenScope(door.scopes[0]), resource_metadata: where }),
  message:
    'Not authenticated. Send "Authorization: Bearer <token>" with a token that this server accepts; ' +
    "where it lets anonymous callers in, send no Authorization header at all.",
});

/** MCP 2026-07-28 authorization §Runtime Insufficient Scope Errors: all that the operation needs, at once. */
const insufficient = (door: Door, where: string | null): Authenticated => ({
  kind: "refused",
  status: 403,
  challenge: challenge({
    error: "insufficient_scope",
    scope: tokenScope(door.scopes[0]),
    ...(where === null ? {} : { resource_metadata: where }),
  }),
  message:
    `The credential does not have the scope ${eitherOf(door.scopes)}, which this needs; ` +
    `in tokens of an authorization server that is ${eitherOf(door.scopes.map(tokenScope))}.`,
});

const eitherOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(" or ");

const challenge = (params: Readonly<Record<string, string>>): string =>
  `Bearer ${Object.entries({ realm: "holdfast", ...params })
    .map(([name, value]) => `${name}="${value}"`)
    .join(", ")}`;

/** Static tokens come first: they need nobody else's answer. */
const verifiersOf = ({ tokens, oauth }: AuthSettings, deps: AuthDeps): readonly Verifier[] => [
  ...(tokens === null ? [] : [staticTokens(tokens)]),
  ...(oauth === null ? [] : [accessTokens(oauth, publishedKeys({ ...deps, url: oauth.jwksUrl }), deps.clock)]),
];

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
