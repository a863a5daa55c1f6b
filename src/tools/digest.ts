import { defineTool, ToolError } from "../tool/define-tool";
import type { TaskContext } from "../tool/context";
import { readPiece, readPieces, type Download } from "./download";
import type { Source } from "./ranged-response";

const MIB = 1024 * 1024;
const DEFAULT_PIECE_BYTES = 4 * MIB;
/** Each piece is a stored step: this keeps a task's record small. */
const MAX_PIECES = 4096;
const MAX_PIECE_BYTES = 16 * MIB;

const input = {
  type: "object",
  properties: {
    url: { type: "string", maxLength: 2048, description: "The http or https URL of the file." },
    pieceBytes: {
      type: "integer",
      minimum: 64 * 1024,
      maximum: MAX_PIECE_BYTES,
      default: DEFAULT_PIECE_BYTES,
      description:
        "Size of a piece in bytes, 65536 to 16777216. Digests compare only when made with the same piece size.",
    },
    listPieces: {
      type: "boolean",
      default: false,
      description: "Also return the SHA-256 of every piece. Long for large files.",
    },
  },
  required: ["url"],
} as const;

const output = {
  type: "object",
  properties: {
    digest: {
      type: "string",
      description: "Hex SHA-256 of the concatenated raw SHA-256 digests of the pieces, in order.",
    },
    bytes: { type: "integer", description: "Size of the file." },
    pieceBytes: { type: "integer" },
    pieceCount: { type: "integer" },
    resumable: {
      type: "boolean",
      description: "Whether the server had byte ranges, so that the work could be taken up in the middle.",
    },
    pieces: { type: "array", items: { type: "string" }, description: "Hex SHA-256 of each piece, if asked for." },
  },
  required: ["digest", "bytes", "pieceBytes", "pieceCount", "resumable"],
  additionalProperties: false,
} as const;

type Piece = { readonly sha256: string; readonly bytes: number };
/** The first step also keeps what the rest must agree with, or, without ranges, is all there is. */
type First =
  | ({ readonly kind: "piece"; readonly source: Source } & Piece)
  | { readonly kind: "whole"; readonly pieces: readonly string[]; readonly bytes: number };

/**
 * The digest: the file is cut into pieces of `pieceBytes` (the last may be shorter, an empty file has none); each has
 * its SHA-256; `digest` is the SHA-256 of those 32-byte values written one after the other. Unlike the SHA-256 of the
 * file itself it can be taken up at any piece, because no inner state of a hash has to be kept.
 */
export const digest = defineTool({
  name: "digest_download",
  title: "Digest a download",
  description:
    "Downloads a file and returns a SHA-256 based digest of it, without keeping the file. Works through large files in " +
    "pieces and takes up where it stopped after an interruption, if the server supports byte ranges. The digest is the " +
    "SHA-256 over the list of the pieces' SHA-256 digests, not the plain SHA-256 of the file. At most 4096 pieces: 16 GiB " +
    "with the default piece size, 64 GiB with the largest. Without byte ranges the file is read in one go, within the " +
    "time a single run may take.",
  input,
  output,
  task: "optional",
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },

  check: ({ url }) => (URL.canParse(url) ? undefined : "`url` must be a valid URL."),

  async run({ url, pieceBytes = DEFAULT_PIECE_BYTES, listPieces = false }, task) {
    const download: Download = { url, fetch: task.fetch, signal: task.signal };
    const first = await task.step("piece/0", () => readFirst(download, pieceBytes, task));
    const { pieces, bytes } = first.kind === "whole" ? first : await readOn(download, pieceBytes, first, task);
    return {
      digest: await sha256(concatenated(pieces)),
      bytes,
      pieceBytes,
      pieceCount: pieces.length,
      resumable: first.kind === "piece",
      ...(listPieces && { pieces: [...pieces] }),
    };
  },
});

async function readFirst(download: Download, pieceBytes: number, task: TaskContext): Promise<First> {
  const read = await readPiece(download, 0, pieceBytes, null);
  if (read.kind === "piece") {
    const { bytes, source } = read;
    demandFit(source.total, pieceBytes);
    report(task, 1, bytes.length, source.total, pieceBytes);
    return { kind: "piece", sha256: await sha256(bytes), bytes: bytes.length, source };
  }
  demandFit(read.total, pieceBytes);
  const pieces: string[] = [];
  const bytes = await readPieces(read, download, pieceBytes, async (piece, readSoFar) => {
    demandFit(readSoFar, pieceBytes);
    pieces.push(await sha256(piece));
    report(task, pieces.length, readSoFar, read.total, pieceBytes);
  });
  return { kind: "whole", pieces, bytes };
}

async function readOn(
  download: Download,
  pieceBytes: number,
  { source, ...first }: Extract<First, { kind: "piece" }>,
  task: TaskContext,
): Promise<{ readonly pieces: readonly string[]; readonly bytes: number }> {
  const pieces = [first.sha256];
  let bytes = first.bytes;
  // Without a total, the end is where a piece comes out short.
  while (source.total === null ? bytes === pieces.length * pieceBytes : bytes < source.total) {
    const piece: Piece = await task.step(`piece/${pieces.length}`, async () => {
      const { bytes: read } = await readPiece(download, bytes, pieceBytes, source);
      demandFit(bytes + read.length, pieceBytes);
      // Told from within the step: a repeated run flies through what is stored, and must not let the progress go back.
      if (read.length > 0) report(task, pieces.length + 1, bytes + read.length, source.total, pieceBytes);
      return { sha256: await sha256(read), bytes: read.length };
    });
    if (piece.bytes === 0) break;
    pieces.push(piece.sha256);
    bytes += piece.bytes;
  }
  return { pieces, bytes };
}

function report(task: TaskContext, pieces: number, bytes: number, total: number | null, pieceBytes: number): void {
  const of = total === null ? "" : ` of ${Math.ceil(total / pieceBytes)}`;
  task.progress({ message: `Piece ${pieces}${of} digested`, progress: bytes, ...(total !== null && { total }) });
}

function demandFit(bytes: number | null, pieceBytes: number): void {
  if (bytes === null || bytes <= MAX_PIECES * pieceBytes) return;
  throw new ToolError(
    `The file is larger than ${MAX_PIECES} pieces of ${pieceBytes} bytes. Call again with a larger pieceBytes, at most ${MAX_PIECE_BYTES}.`,
  );
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const concatenated = (digests: readonly string[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(digests.join("").match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
