/** Serves one file over a stub `fetch`, with ranges and with the faults a test asks for. */
export type RangeServer = {
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** The `Range` header of each request, in order; null where there was none. */
  readonly ranges: (string | null)[];
  readonly requests: Headers[];
  file: Uint8Array<ArrayBuffer>;
  etag: string | null;
  lastModified: string | null;
  /** Answers instead of the file, as long as it returns something. */
  intercept: (headers: Headers, index: number) => Response | Error | null;
};

export type RangeServerOptions = {
  readonly file: Uint8Array<ArrayBuffer>;
  readonly etag?: string | null;
  readonly lastModified?: string | null;
  /** False: every answer is the whole file. */
  readonly ranges?: boolean;
  /** False: `Content-Range` ends in `*`, and there is no `Content-Length`. */
  readonly tellsTotal?: boolean;
  /** At most so many bytes of a body arrive before it ends. */
  readonly bodyLimit?: number;
  /** At most so many bytes are promised in one answer. */
  readonly rangeLimit?: number;
  /** Bytes per chunk of a body. */
  readonly chunk?: number;
};

export function rangeServer(options: RangeServerOptions): RangeServer {
  const {
    ranges: hasRanges = true,
    tellsTotal = true,
    bodyLimit = Infinity,
    rangeLimit = Infinity,
    chunk = 1000,
  } = options;
  const server: RangeServer = {
    ranges: [],
    requests: [],
    file: options.file,
    etag: options.etag === undefined ? '"v1"' : options.etag,
    lastModified: options.lastModified ?? null,
    intercept: () => null,
    fetch: async (_url, init) => {
      const headers = new Headers(init?.headers);
      init?.signal?.throwIfAborted();
      server.ranges.push(headers.get("range"));
      server.requests.push(headers);
      const instead = server.intercept(headers, server.requests.length - 1);
      if (instead instanceof Error) throw instead;
      return instead ?? answer(headers);
    },
  };

  const answer = (headers: Headers): Response => {
    const { file, etag, lastModified } = server;
    const facts = new Headers({ date: "Tue, 02 Jan 2029 00:00:00 GMT" });
    if (etag !== null) facts.set("etag", etag);
    if (lastModified !== null) facts.set("last-modified", lastModified);
    const ifRange = headers.get("if-range");
    const current = ifRange === null || ifRange === etag || ifRange === lastModified;
    const match = hasRanges && current ? /^bytes=(\d+)-(\d+)$/.exec(headers.get("range") ?? "") : null;
    if (!match) {
      if (tellsTotal) facts.set("content-length", String(file.length));
      return new Response(stream(file, chunk, bodyLimit), { status: 200, headers: facts });
    }
    const first = Number(match[1]);
    if (first >= file.length) {
      facts.set("content-range", `bytes */${file.length}`);
      return new Response(null, { status: 416, headers: facts });
    }
    const last = Math.min(Number(match[2]), file.length - 1, first + rangeLimit - 1);
    facts.set("content-range", `bytes ${first}-${last}/${tellsTotal ? file.length : "*"}`);
    return new Response(stream(file.subarray(first, last + 1), chunk, bodyLimit), { status: 206, headers: facts });
  };
  return server;
}

function stream(bytes: Uint8Array, chunk: number, limit: number): ReadableStream<Uint8Array> {
  let at = 0;
  const end = Math.min(bytes.length, limit);
  return new ReadableStream({
    pull: (controller) => {
      if (at >= end) {
        // A cut body is a broken connection, as a real fetch reports it.
        if (end < bytes.length) controller.error(new TypeError("terminated"));
        else controller.close();
        return;
      }
      controller.enqueue(bytes.slice(at, Math.min(at + chunk, end)));
      at += chunk;
    },
  });
}
