import { tooLarge } from "./task/errors";

/** The whole body. Throws `too_large` past the limit; counts what comes, since Content-Length is only a claim. */
export async function readBody(
  request: Request,
  { maxBodyBytes }: { readonly maxBodyBytes: number },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    // What is left is not waited for: the stream is cancelled.
    if (length > maxBodyBytes) throw tooLarge("The body", "MAX_BODY_BYTES", maxBodyBytes);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
