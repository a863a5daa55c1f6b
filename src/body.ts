/** The whole body, or null when it is longer than the limit. Counts what comes: Content-Length is only a claim. */
export async function readBody(request: Request, limitBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    // What is left is not waited for: the stream is cancelled.
    if (length > limitBytes) return null;
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
