/** A row is at most 2 MB on the platform, and nothing says so locally. */
export const CHUNK_BYTES = 1_000_000;

export type Format = typeof UTF8 | typeof UTF16;

const UTF8 = 8;
const UTF16 = 16;
const UNITS_AT_ONCE = 8_192;

/** Any JavaScript string as bytes that give it back exactly: UTF-8, or UTF-16 where a lone surrogate has no UTF-8. */
export function toBytes(text: string): { readonly format: Format; readonly bytes: Uint8Array<ArrayBuffer> } {
  if (text.isWellFormed()) return { format: UTF8, bytes: new Uint8Array(new TextEncoder().encode(text)) };
  const units = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at);
  return { format: UTF16, bytes: new Uint8Array(units.buffer) };
}

export function toText(format: Format, bytes: Uint8Array<ArrayBuffer>): string {
  // A decoder left to itself swallows a leading U+FEFF.
  if (format === UTF8) return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  const units = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  const pieces: string[] = [];
  for (let at = 0; at < units.length; at += UNITS_AT_ONCE) {
    pieces.push(String.fromCharCode(...units.subarray(at, at + UNITS_AT_ONCE)));
  }
  return pieces.join("");
}

/** Pieces that fit a row; one empty piece for nothing. */
export function split(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const chunks = [bytes.slice(0, CHUNK_BYTES)];
  for (let at = CHUNK_BYTES; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.slice(at, at + CHUNK_BYTES));
  return chunks;
}

export function join(chunks: readonly ArrayBuffer[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(new Uint8Array(chunk), at);
    at += chunk.byteLength;
  }
  return joined;
}
