// A small HTTP server with one file: it knows byte ranges, takes its time, and counts what it was asked for.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export type FileServer = {
  readonly url: string;
  /** How often a range from each first byte was asked for. */
  readonly requests: ReadonlyMap<number, number>;
  stop(): Promise<void>;
};

export async function serveFile(file: Uint8Array, options: { readonly msPerRequest: number }): Promise<FileServer> {
  const requests = new Map<number, number>();
  const server = createServer(async (request, response) => {
    const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const first = Number(asked?.[1] ?? 0);
    const last = Math.min(Number(asked?.[2] ?? Infinity), file.length - 1);
    requests.set(first, (requests.get(first) ?? 0) + 1);
    await delay(options.msPerRequest);
    response.writeHead(asked ? 206 : 200, {
      "accept-ranges": "bytes",
      "content-length": last - first + 1,
      etag: '"the-only-version"',
      ...(asked ? { "content-range": `bytes ${first}-${last}/${file.length}` } : {}),
    });
    response.end(file.subarray(first, last + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/file`,
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
