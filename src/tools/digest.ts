import { defineTool, ToolError } from "../tool/define-tool";
import type { TaskContext } from "../tool/context";

const MIB = 1024 * 1024;
const DEFAULT_PIECE_BYTES = 4 * MIB;
const MAX_PIECE_BYTES = 16 * MIB;
/** Each piece is a stored step: this keeps a task's record small. */
const MAX_PIECES = 4096;

const input = {
  type: "object",
  properties: {
    url: { type: "string", maxLength: 2048, description: "The http or https URL of the file." },
    pieceBytes: {
      type: "integer",
      minimum: 64 * 1024,
      maximum: MAX_PIECE_BYTES,
      default: DEFAULT_PIECE_BYTES,
      description: "Size of a piece in bytes. Digests compare only when made with the same piece size.",
    },
    listPieces: { type: "boolean", default: false, description: "Also return the SHA-256 of every piece." },
  },
  required: ["url"],
} as const;

const output = {
  type: "object",
  properties: {
    digest: { type: "string", description: "Hex SHA-256 of the pieces' raw SHA-256 digests, in order." },
    bytes: { type: "integer", description: "Size of the file." },
    pieceBytes: { type: "integer" },
    pieceCount: { type: "integer" },
    resumable: {
      type: "boolean",
      description: "Whether the server had byte ranges, to take the work up in the middle.",
    },
    pieces: { type: "array", items: { type: "string" }, description: "Hex SHA-256 of each piece, if asked for." },
  },
  required: ["digest", "bytes", "pieceBytes", "pieceCount", "resumable"],
  additionalProperties: false,
} as const;

/**
 * The digest: the file is cut into pieces of `pieceBytes` (the last may be shorter, an empty file has none); each has
 * its SHA-256; `digest` is the SHA-256 of those 32-byte values one after the other. Unlike the SHA-256 of the file itself
 * it can be taken up at any piece, because no inner state of a hash has to be kept.
 */
export const digest = defineTool({
  name: "digest_download",
  title: "Digest a download",
  description:
    "Downloads a file in pieces and returns a digest of it: the SHA-256 over the list of the pieces' SHA-256 digests, not " +
    "the plain SHA-256 of the file. Takes up where it stopped after an interruption, if the server has byte ranges; else " +
    "it reads the file in one go. At most 4096 pieces.",
  input,
  output,
  task: "optional",
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },

  check: ({ url }) => (URL.canParse(url) ? undefined : "`url` must be a valid URL."),

  async run({ url, pieceBytes = DEFAULT_PIECE_BYTES, listPieces = false }, task) {
    const pieces: Digest[] = [];
    let file: Part | undefined;
    let facts: Part["facts"] = [];
    for (let at = 0; file === undefined || at < file.total; at = pieces.length * pieceBytes) {
      const part: Part = await task.step(`from ${at}`, () => digestPart(url, at, pieceBytes, task));
      file ??= part;
      // Parts of two versions must never be mixed. What no answer before said cannot differ.
      if (part.total !== file.total || part.facts.some((fact, n) => fact !== null && fact !== (facts[n] ?? fact))) {
        throw new ToolError("The file changed while it was being read. Start again to digest the new version.");
      }
      facts = part.facts.map((fact, n) => facts[n] ?? fact);
      pieces.push(...part.pieces);
    }
    return {
      digest: hex(await sha256(Uint8Array.from(pieces.flat()))),
      bytes: file.total,
      pieceBytes,
      pieceCount: pieces.length,
      resumable: file.ranged,
      ...(listPieces && { pieces: pieces.map(hex) }),
    };
  },
});

/** The bytes of a SHA-256. */
type Digest = readonly number[];

/** What is stored of a step: the digests of the one piece it read, or of all, and what the server says of the file. */
type Part = {
  readonly pieces: readonly Digest[];
  readonly total: number;
  readonly facts: readonly (string | null)[];
  readonly ranged: boolean;
};

async function digestPart(url: string, at: number, pieceBytes: number, task: TaskContext): Promise<Part> {
  const ask = (range: Readonly<Record<string, string>>): Promise<Response> =>
    task.fetch(url, { headers: { "accept-encoding": "identity", ...range }, signal: task.signal });
  let response = await reached(url, task, ask({ range: `bytes=${at}-${at + pieceBytes - 1}` }));
  const total = totalOf(response, at);
  if (at === 0 && total === null && [206, 416].includes(response.status)) {
    // Ranges that do not fit are as good as none; and of an empty file some servers say 416.
    await response.body?.cancel();
    response = await reached(url, task, ask({}));
  }
  const { status, headers, body } = response;
  // What is compressed as a whole, fetch decodes.
  const isWhole = at === 0 && status === 200 && ["identity", "gzip", "br"].includes(encodingOf(headers));
  if ((total ?? 0) > MAX_PIECES * pieceBytes || (total === null && !isWhole)) {
    await body?.cancel();
    if (total !== null) throw tooLarge(pieceBytes);
    throw new ToolError(`The server answered with HTTP status ${status}, not with the plain bytes from ${at} on.`, {
      retry: status === 408 || status === 429 || status >= 500,
    });
  }

  const pieces: Digest[] = [];
  let read = 0;
  const piece = new Uint8Array(pieceBytes);
  const digestOne = async (): Promise<void> => {
    pieces.push(await sha256(piece.subarray(0, read - pieces.length * pieceBytes)));
    if (pieces.length > MAX_PIECES) throw tooLarge(pieceBytes);
    // Told from within the step: a repeated run flies through what is stored, and must not let the progress go back.
    const of = total === null ? "" : ` of ${Math.ceil(total / pieceBytes)}`;
    const message = `Piece ${at / pieceBytes + pieces.length}${of} digested`;
    task.progress({ message, progress: at + read, ...(total !== null && { total }) });
  };
  const readAll = async (): Promise<void> => {
    for await (const chunk of body ?? []) {
      if (total !== null && read + chunk.length > pieceBytes) {
        throw new ToolError("The server sends more than the range it was asked for.");
      }
      for (let from = 0; from < chunk.length;) {
        const filled = read - pieces.length * pieceBytes;
        const next = chunk.subarray(from, from + pieceBytes - filled);
        piece.set(next, filled);
        from += next.length;
        read += next.length;
        if (read === (pieces.length + 1) * pieceBytes) await digestOne();
      }
    }
  };
  await reached(url, task, readAll());
  if (read > pieces.length * pieceBytes) await digestOne();
  if (total !== null && read !== Math.min(pieceBytes, total - at)) throw unreachable(url);
  const facts = [headers.get("etag"), headers.get("last-modified")];
  return { pieces, total: total ?? read, facts, ranged: total !== null };
}

/** The size of the file, if this is the range asked for of its plain bytes: one of compressed bytes is not. */
function totalOf({ status, headers }: Response, at: number): number | null {
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get("content-range") ?? "") ?? [];
  return status === 206 && Number(first) === at && encodingOf(headers) === "identity" ? Number(total) : null;
}

const encodingOf = (headers: Headers): string => headers.get("content-encoding") ?? "identity";

/** What came of it; a failure on the way may be tried again, unless it says otherwise. */
const reached = <T>(url: string, { signal }: TaskContext, work: Promise<T>): Promise<T> =>
  work.catch((thrown: unknown) => {
    signal.throwIfAborted();
    throw thrown instanceof ToolError ? thrown : unreachable(url);
  });

const unreachable = (url: string): ToolError =>
  new ToolError(`${new URL(url).host} could not be reached, or broke off.`, { retry: true });

const tooLarge = (pieceBytes: number): ToolError =>
  new ToolError(
    `The file is larger than ${MAX_PIECES} pieces of ${pieceBytes} bytes. Call again with a larger pieceBytes, at most ${MAX_PIECE_BYTES}.`,
  );

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<Digest> =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

const hex = (bytes: Digest): string => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
