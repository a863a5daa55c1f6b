import { decodeBase64url, encodeBase64url } from "./base64url";
import type { Clock } from "./clock";
import type { JsonObject } from "./task/json";

/** Seals small facts into tokens that a client carries for us (design decision 11). */
export type Sealer = {
  /** `principal` binds the token to one caller. URL-safe text. */
  seal(purpose: string, payload: JsonObject, principal: string, ttlMs: number): Promise<string>;
  /** Null when it is forged, altered, expired, of another purpose or another caller's. */
  open(purpose: string, token: string, principal: string): Promise<JsonObject | null>;
};

// A token is base64url of: format (1 byte), key id (4), iv (12), AES-256-GCM of [expiresAt, payload].
const FORMAT = 1;
const IV_AT = 5;
const BOX_AT = 17;
const TAG_BYTES = 16;

type SealingKey = { readonly id: Uint8Array; readonly aes: CryptoKey };

/**
 * `secret` is asked until it answers once. The key made of it is kept, never a promise of it: on Workers a promise
 * that one request began must not be awaited by another. When `secret` fails, so do `seal` and `open`: that is our
 * fault, and not the token's.
 */
export function createSealer(secret: () => Promise<string>, clock: Clock): Sealer {
  const keys = new Map<string, SealingKey>();

  async function keyFor(purpose: string): Promise<SealingKey> {
    const known = keys.get(purpose);
    if (known) return known;
    const key = await deriveKey(await secret(), purpose);
    keys.set(purpose, key);
    return key;
  }

  return {
    async seal(purpose, payload, principal, ttlMs) {
      const key = await keyFor(purpose);
      // Random IVs are sound for 2^32 tokens of one purpose under one secret (NIST SP 800-38D §8.3).
      const iv = crypto.getRandomValues(new Uint8Array(BOX_AT - IV_AT));
      const plain = new TextEncoder().encode(JSON.stringify([clock() + ttlMs, payload]));
      const box = new Uint8Array(await crypto.subtle.encrypt(gcm(iv, purpose, principal), key.aes, plain));
      const token = new Uint8Array(BOX_AT + box.length);
      token[0] = FORMAT;
      token.set(key.id, 1);
      token.set(iv, IV_AT);
      token.set(box, BOX_AT);
      return encodeBase64url(token);
    },

    async open(purpose, token, principal) {
      const bytes = decodeBase64url(token);
      if (bytes === null || bytes.length < BOX_AT + TAG_BYTES || bytes[0] !== FORMAT) return null;
      const key = await keyFor(purpose);
      if (key.id.some((byte, at) => byte !== bytes[1 + at])) return null;
      try {
        const algorithm = gcm(bytes.subarray(IV_AT, BOX_AT), purpose, principal);
        const plain = await crypto.subtle.decrypt(algorithm, key.aes, bytes.subarray(BOX_AT));
        const [expiresAt, payload] = JSON.parse(new TextDecoder().decode(plain)) as [number | null, JsonObject];
        return expiresAt !== null && clock() < expiresAt ? payload : null;
      } catch {
        return null;
      }
    },
  };
}

/** A list in JSON, so that no purpose and principal can be read as another pair. */
const gcm = (iv: Uint8Array<ArrayBuffer>, purpose: string, principal: string) => ({
  name: "AES-GCM",
  iv,
  additionalData: new TextEncoder().encode(JSON.stringify([FORMAT, purpose, principal])),
});

async function deriveKey(secret: string, purpose: string): Promise<SealingKey> {
  const encoder = new TextEncoder();
  const base = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveBits"]);
  const info = encoder.encode(`holdfast/seal/${FORMAT}/${purpose}`);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  // 32 bytes of key, and 4 that name it: a token of an earlier secret is known at sight.
  const bits = new Uint8Array(await crypto.subtle.deriveBits(hkdf, base, 36 * 8));
  const aes = await crypto.subtle.importKey("raw", bits.subarray(0, 32), "AES-GCM", false, ["encrypt", "decrypt"]);
  return { id: bits.slice(32), aes };
}
