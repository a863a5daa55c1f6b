import { ToolError } from "../tool/define-tool";
import { checkedRange, encodingOf, refused, refusedEncoding, sourceOf, type Source } from "./ranged-response";

export type Download = {
  readonly url: string;
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  readonly signal: AbortSignal;
};

/** Shorter than asked only at the end of the resource. */
export type Piece = { readonly kind: "piece"; readonly bytes: Uint8Array<ArrayBuffer>; readonly source: Source };

/** What a server without ranges gives: the whole resource from its start. */
export type Whole = { readonly kind: "whole"; readonly response: Response; readonly total: number | null };

/** Answers in a row that bring no byte further before the server is taken to be down. */
const FRUITLESS = 3;

/**
 * Reads `length` bytes from `start` into one buffer. A part that ends early is asked for again from where it stopped.
 * Every part must come from the resource `known` describes: ranges of two versions must never be mixed.
 */
export async function readPiece(download: Download, start: number, length: number, known: Source): Promise<Piece>;
export async function readPiece(download: Download, start: number, length: number, known: null): Promise<Piece | Whole>;
export async function readPiece(
  download: Download,
  start: number,
  length: number,
  known: Source | null,
): Promise<Piece | Whole> {
  const piece = new Uint8Array(length);
  let source = known;
  let filled = 0;
  let fruitless = 0;
  while (filled < wanted(start, length, source)) {
    const response = await request(download, rangeHeaders(start + filled, start + length - 1, source));
    if (response?.status === 416 && (source === null || source.total === null)) {
      await response.body?.cancel();
      // Before anything is known this is what some servers say of an empty file; later it is the end.
      if (source === null) return readWhole(download);
      break;
    }
    if (response?.status === 200 && source === null) return whole(response);

    const before = filled;
    if (response !== null) {
      const range = await checkedRange(response, start + filled, source);
      source ??= sourceOf(response, range.total);
      const end = Math.min(length, filled + range.length, wanted(start, length, source));
      filled += await readInto(piece.subarray(filled, end), response, download.signal);
    }
    fruitless = filled > before ? 0 : fruitless + 1;
    if (fruitless === FRUITLESS) throw unreachable(download.url);
  }
  if (source === null) throw unreachable(download.url);
  return { kind: "piece", bytes: piece.subarray(0, filled), source };
}

/** Streams a body piece by piece through one buffer, which is only good until `onPiece` is done. */
export async function readPieces(
  { response, total }: Whole,
  { signal }: Download,
  length: number,
  onPiece: (bytes: Uint8Array<ArrayBuffer>, readSoFar: number) => Promise<void>,
): Promise<number> {
  const piece = new Uint8Array(length);
  let filled = 0;
  let read = 0;
  const ended = await eachChunk(response, signal, async (chunk) => {
    for (let rest = chunk; rest.length > 0;) {
      const part = rest.subarray(0, length - filled);
      piece.set(part, filled);
      filled += part.length;
      read += part.length;
      rest = rest.subarray(part.length);
      if (filled === length) {
        await onPiece(piece, read);
        filled = 0;
      }
    }
    return true;
  });
  if (ended !== "complete" || (total !== null && read !== total)) {
    throw new ToolError(`The download broke off after ${read} bytes.`, { retry: true });
  }
  if (filled > 0) await onPiece(piece.subarray(0, filled), read);
  return read;
}

const wanted = (start: number, length: number, source: Source | null): number =>
  source === null || source.total === null ? length : Math.min(length, source.total - start);

const IDENTITY = { "accept-encoding": "identity" };

const rangeHeaders = (first: number, last: number, source: Source | null): Record<string, string> => ({
  ...IDENTITY,
  range: `bytes=${first}-${last}`,
  ...(source?.ifRange && { "if-range": source.ifRange }),
});

/** Null when the server could not be reached: as good as an answer without a byte. */
async function request({ url, fetch, signal }: Download, headers: Record<string, string>): Promise<Response | null> {
  try {
    return await fetch(url, { headers, signal });
  } catch (thrown) {
    if (signal.aborted || thrown instanceof ToolError) throw thrown;
    return null;
  }
}

async function readWhole(download: Download): Promise<Whole> {
  const response = await request(download, IDENTITY);
  if (response === null) throw unreachable(download.url);
  if (response.status !== 200) throw await refused(response);
  return whole(response);
}

/**
 * Cloudflare may ask for compression whatever we say, and fetch decodes it: then these are the file's own bytes, but
 * the length is of what was sent.
 */
async function whole(response: Response): Promise<Whole> {
  const encoding = encodingOf(response);
  if (encoding !== null && encoding !== "gzip" && encoding !== "br") throw await refusedEncoding(response);
  const length = encoding === null ? response.headers.get("content-length") : null;
  return { kind: "whole", response, total: length !== null && /^\d+$/.test(length) ? Number(length) : null };
}

/** Fills the target as far as the body goes, and says how far that was. */
async function readInto(target: Uint8Array, response: Response, signal: AbortSignal): Promise<number> {
  let filled = 0;
  await eachChunk(response, signal, (chunk) => {
    const part = chunk.subarray(0, target.length - filled);
    target.set(part, filled);
    filled += part.length;
    return filled < target.length;
  });
  return filled;
}

/** A connection that breaks is an ordinary end: the caller knows what it still needs. Only an abort is thrown. */
async function eachChunk(
  response: Response,
  signal: AbortSignal,
  onChunk: (chunk: Uint8Array) => boolean | Promise<boolean>,
): Promise<"complete" | "broken" | "enough"> {
  const reader = response.body?.getReader();
  if (!reader) return "complete";
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await reader.read().catch(() => null);
      if (next === null) {
        signal.throwIfAborted();
        return "broken";
      }
      if (next.done) return "complete";
      if (!(await onChunk(next.value as Uint8Array))) return "enough";
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

const unreachable = (url: string): ToolError =>
  new ToolError(`${new URL(url).host} could not be reached, or sends no data.`, { retry: true });
