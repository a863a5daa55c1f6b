import { ToolError } from "../tool/define-tool";

/** What every part of one download must agree on. JSON, so that a step can keep it. */
export type Source = {
  /** Null when the server does not say; then the end is where it has no more to give. */
  readonly total: number | null;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** The validator for `If-Range`, if the server gave one that is strong enough. */
  readonly ifRange: string | null;
};

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

type Range = { readonly length: number; readonly total: number | null };

/** The answer to a ranged request, if it is the part asked for and of the same resource. */
async function checkedRange(response: Response, from: number, source: Source | null): Promise<Range> {
  if (response.status === 200 || response.status === 416 || response.status === 412) {
    const sameTag = response.status === 200 && source?.etag && source.etag === response.headers.get("etag");
    await response.body?.cancel();
    // RFC 9110 §13.1.5: the whole representation in answer to If-Range means that it is another one now.
    throw sameTag
      ? new ToolError("The server stopped serving ranges in the middle of the download.", { retry: true })
      : changed();
  }
  if (response.status !== 206) throw await refused(response);
  // Ranges of compressed bytes are not ranges of the file.
  if (encodingOf(response) !== null) throw await refusedEncoding(response);
  const range = parseContentRange(response.headers.get("content-range"));
  if (!range || range.first !== from) {
    await response.body?.cancel();
    throw new ToolError(
      "The server answered with another range than it was asked for, so the download cannot be pieced together.",
    );
  }
  if (source && !sameSource(source, sourceOf(response, range.total))) {
    await response.body?.cancel();
    throw changed();
  }
  return { length: range.last - range.first + 1, total: range.total };
}

function sourceOf(response: Response, total: number | null): Source {
  const etag = response.headers.get("etag");
  const lastModified = response.headers.get("last-modified");
  const strong = etag === null ? isStrongDate(lastModified, response.headers.get("date")) : !etag.startsWith("W/");
  return { total, etag, lastModified, ifRange: strong ? (etag ?? lastModified) : null };
}

/** RFC 9110 §8.8.2.2: a date is a strong validator once the resource has been left alone for a second. */
const isStrongDate = (lastModified: string | null, date: string | null): boolean =>
  lastModified !== null && date !== null && Date.parse(date) - Date.parse(lastModified) >= 1000;

/** What one of the answers does not say cannot differ: some servers leave validators out of a 206. */
const sameSource = (one: Source, other: Source): boolean =>
  (["total", "etag", "lastModified"] as const).every(
    (fact) => one[fact] === null || other[fact] === null || one[fact] === other[fact],
  );

/** `bytes 0-99/1234`, or `*` for a total nobody knows yet. RFC 9110 §14.4. */
function parseContentRange(value: string | null): { first: number; last: number; total: number | null } | null {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/i.exec(value?.trim() ?? "");
  if (!match) return null;
  const [first, last] = [Number(match[1]), Number(match[2])];
  const total = match[3] === "*" ? null : Number(match[3]);
  return last < first || (total !== null && last >= total) ? null : { first, last, total };
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

function encodingOf(response: Response): string | null {
  const encoding = response.headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  return encoding === "identity" ? null : encoding;
}

async function refusedEncoding(response: Response): Promise<ToolError> {
  await response.body?.cancel();
  return new ToolError(
    `The server sends the file with Content-Encoding "${encodingOf(response)}" although asked not to, so its own bytes cannot be read.`,
  );
}

async function refused(response: Response): Promise<ToolError> {
  await response.body?.cancel();
  const passing = response.status === 408 || response.status === 429 || response.status >= 500;
  return new ToolError(`The server answered the download with HTTP status ${response.status}.`, { retry: passing });
}

const changed = (): ToolError =>
  new ToolError("The file changed on the server while it was being read. Start again to digest the new version.");

const unreachable = (url: string): ToolError =>
  new ToolError(`${new URL(url).host} could not be reached, or sends no data.`, { retry: true });
