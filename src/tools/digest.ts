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
    url: { type: "string", format: "uri", maxLength: 2048, description: "The http or https URL of the file." },
    pieceBytes: {
      type: "integer",
      minimum: 64 * 1024,
      maximum: MAX_PIECE_BYTES,
      default: DEFAULT_PIECE_BYTES,
      description: "Size of a piece in bytes. Digests compare only when made with the same piece size.",
    },
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
  },
  required: ["digest", "bytes", "pieceBytes", "pieceCount"],
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
    "the plain SHA-256 of the file. Takes up where it stopped after an interruption. At most 4096 pieces; from a server " +
    "without byte ranges, one.",
  input,
  output,
  task: "optional",
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },

  async run({ url, pieceBytes = DEFAULT_PIECE_BYTES }, task) {
    const digests: number[] = [];
    let file: Piece | undefined;
    for (let at = 0; file === undefined || at < file.total; at += pieceBytes) {
      const piece: Piece = await task.step(`piece at ${at}`, () => digestPiece(url, at, pieceBytes, task));
      file ??= piece;
      // Pieces of two versions must never be mixed.
      if (piece.total !== file.total || piece.version !== file.version) {
        throw new ToolError("The file changed while it was being read. Start again to digest the new version.");
      }
      if (file.total > MAX_PIECES * pieceBytes) throw tooLarge(MAX_PIECES * pieceBytes);
      digests.push(...piece.digest);
    }
    const { total } = file;
    const whole = await sha256(Uint8Array.from(digests));
    return {
      digest: whole.map((byte) => byte.toString(16).padStart(2, "0")).join(""),
      bytes: total,
      pieceBytes,
      pieceCount: Math.ceil(total / pieceBytes),
    };
  },
});

/** What is stored of a piece: its digest, which of no bytes is none, and which file the server says it is of. */
type Piece = { readonly digest: readonly number[]; readonly total: number; readonly version: string | null };

async function digestPiece(url: string, at: number, pieceBytes: number, task: TaskContext): Promise<Piece> {
  try {
    const headers = { "accept-encoding": "identity", range: `bytes=${at}-${at + pieceBytes - 1}` };
    const response = await task.fetch(url, { headers, signal: task.signal });
    const { bytes, total } = await bytesOf(response, at, pieceBytes);
    // Told from within the step: a repeated run flies through what is stored, and must not let the progress go back.
    const message = `Piece ${at / pieceBytes + 1} of ${Math.ceil(total / pieceBytes)} digested`;
    task.progress({ message, progress: at + bytes.length, total });
    const version = response.headers.get("etag") ?? response.headers.get("last-modified");
    return { digest: bytes.length === 0 ? [] : await sha256(bytes), total, version };
  } catch (thrown) {
    task.signal.throwIfAborted();
    if (thrown instanceof ToolError) throw thrown;
    throw new ToolError(`${new URL(url).host} could not be reached, or broke off.`, { retry: true });
  }
}

/** The bytes from `at` on, if that is what the server answered with, and how many the file has. */
async function bytesOf({ status, headers, body }: Response, at: number, pieceBytes: number) {
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get("content-range") ?? "") ?? [];
  // Ranges of compressed bytes are not ranges of the file. What is compressed as a whole, fetch decodes.
  const isPiece = status === 206 && Number(first) === at && !headers.has("content-encoding");
  const isWhole = at === 0 && (status === 200 || status === 416);
  if (!isPiece && !isWhole) {
    await body?.cancel();
    throw new ToolError(`The server answered with HTTP status ${status}, not with the plain bytes from ${at} on.`, {
      retry: status === 408 || status === 429 || status >= 500,
    });
  }
  const bytes = new Uint8Array(pieceBytes);
  let filled = 0;
  // An empty file has no range, some servers say.
  for await (const chunk of status === 416 || !body ? [] : body) {
    if (filled + chunk.length > pieceBytes) throw tooLarge(pieceBytes);
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  const total = isPiece ? Number(size) : filled;
  if (filled < Math.min(pieceBytes, total - at)) throw new Error("The piece is too short.");
  return { bytes: bytes.subarray(0, filled), total };
}

const tooLarge = (limitBytes: number): ToolError =>
  new ToolError(
    `The file is larger than the ${limitBytes} bytes that can be read so. Call again with a larger pieceBytes, at most ${MAX_PIECE_BYTES}.`,
  );

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<number[]> =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
