import { encodeBase64url } from "../../base64url";
import { holderOf, type Principal } from "../../service/principal";
import type { Session } from "../../service/sessions";
import type { JsonObject } from "../../task/json";
import type { McpDeps } from "../wing";

/** A session as its id tells it: nothing of this is stored. */
export type LegacySession = Session & {
  readonly version: string;
  /** What the client declared, as far as it is ever used. */
  readonly capabilities: JsonObject;
};

const PURPOSE = "session";
/** A client that is open for longer gets 404 and begins anew, as clients must (2025-11-25 transports §Session Management). */
const SESSION_TTL_MS = 604_800_000;

/** In few letters: the id comes with each request. */
type Facts = { readonly v: string; readonly c: JsonObject; readonly r: string; readonly x: number };

/** A session costs nothing until something must be kept for it, so a flood of `initialize` costs no storage. */
export function mintSession(
  { sealer, clock }: McpDeps,
  principal: Principal,
  version: string,
  capabilities: JsonObject,
): Promise<string> {
  const expiresAt = clock() + SESSION_TTL_MS;
  const facts: Facts = { v: version, c: capabilities, r: randomName(16), x: expiresAt };
  return sealer.seal(PURPOSE, facts, holderOf(principal), SESSION_TTL_MS);
}

/** Null for an id that is unknown, forged, expired or another caller's: they read the same. */
export async function openSession(
  { sealer }: McpDeps,
  principal: Principal,
  id: string,
): Promise<LegacySession | null> {
  const sealed = (await sealer.open(PURPOSE, id, holderOf(principal))) as Facts | null;
  return sealed && { key: sealed.r, expiresAt: sealed.x, version: sealed.v, capabilities: sealed.c };
}

export const randomName = (bytes: number): string => encodeBase64url(crypto.getRandomValues(new Uint8Array(bytes)));
