import { decodeBase64url, encodeBase64url } from "./base64url";

/**
 * A task id is the 32 bytes of a platform id in base64url: 43 characters, safe in a header. The hex form is what the
 * platform speaks. May start with `-`, which no task may: see `mintTaskId`.
 */
export function encodeTaskId(hex: string): string {
  if (!/^[0-9a-f]{64}$/.test(hex)) throw new Error("A platform id is 64 lower-case hex digits.");
  return encodeBase64url(
    Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16)),
  );
}

/** The hex form, or null unless this is the one spelling we give out. Says nothing about whether such a task exists. */
export function decodeTaskId(id: string): string | null {
  if (id.length !== 43 || id.startsWith("-")) return null;
  const bytes = decodeBase64url(id);
  return bytes && toHex(bytes);
}

/** Takes platform ids until one does not start with `-`, which a command line would read as an option. */
export function mintTaskId(nextHex: () => string): string {
  for (;;) {
    const id = encodeTaskId(nextHex());
    if (!id.startsWith("-")) return id;
  }
}

/** For stores whose platform mints no ids. `random` fills the bytes, as `crypto.getRandomValues` does. */
export const randomTaskId = (random: (bytes: Uint8Array<ArrayBuffer>) => void): string =>
  mintTaskId(() => {
    const bytes = new Uint8Array(32);
    random(bytes);
    return toHex(bytes);
  });

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
