// RFC 4648 §5 without padding. Written out because a decoder that takes several spellings of the same bytes would
// give one task, or one sealed token, several names.
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUE = Int8Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));

export function encodeBase64url(bytes: Uint8Array): string {
  let text = "";
  let pending = 0;
  let bits = 0;
  for (const byte of bytes) {
    pending = ((pending << 8) | byte) & 0x3fff;
    for (bits += 8; bits >= 6; bits -= 6) text += ALPHABET.charAt((pending >> (bits - 6)) & 63);
  }
  return bits === 0 ? text : text + ALPHABET.charAt((pending << (6 - bits)) & 63);
}

/** Null for anything but the canonical spelling: no padding, no other characters, no stray bits at the end. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 === 1) return null;
  const bytes = new Uint8Array((text.length * 3) >> 2);
  let pending = 0;
  let bits = 0;
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const value = VALUE[text.charCodeAt(at)] ?? -1;
    if (value < 0) return null;
    pending = ((pending << 6) | value) & 0x3fff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = pending >> bits;
    }
  }
  return (pending & ((1 << bits) - 1)) === 0 ? bytes : null;
}
