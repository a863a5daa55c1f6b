import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { safeFetch } from "../../src/service/safe-fetch";
import { ToolError } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { digest } from "../../src/tools/digest";
import { fakeTask, type FakeTask } from "../support/fake-task-context";
import { rangeServer, type RangeServer, type RangeServerOptions } from "../support/range-server";

/** When the stub server says it answers. */
const DATE = "Tue, 02 Jan 2029 00:00:00 GMT";

type Digested = {
  digest: string;
  bytes: number;
  pieceBytes: number;
  pieceCount: number;
  resumable: boolean;
  pieces?: string[];
};

const FILE = "https://files.example.com/large.bin";

const bytesOf = (size: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 8)) & 0xff);

/** The construction again, written independently: SHA-256 over the raw SHA-256 of each slice. */
function expected(file: Uint8Array, pieceBytes: number): { digest: string; pieces: string[] } {
  const list = createHash("sha256");
  const pieces: string[] = [];
  for (let at = 0; at < file.length; at += pieceBytes) {
    const piece = createHash("sha256")
      .update(file.subarray(at, at + pieceBytes))
      .digest();
    pieces.push(piece.toString("hex"));
    list.update(piece);
  }
  return { digest: list.digest().toString("hex"), pieces };
}

const run = async (task: FakeTask, pieceBytes = 1000): Promise<Digested> =>
  (await digest.run({ url: FILE, pieceBytes, listPieces: true }, task.context())) as Digested;

function serve(options: RangeServerOptions): { server: RangeServer; task: FakeTask } {
  const server = rangeServer(options);
  return { server, task: fakeTask({ fetch: server.fetch }) };
}

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error("It should have been refused.");
    },
    (thrown: unknown) => thrown,
  );

describe("digest_download", () => {
  it("gives the digest over the list of piece digests, whatever the sizes and whatever the server can do", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          size: fc.integer({ min: 0, max: 400 }),
          pieceBytes: fc.integer({ min: 1, max: 150 }),
          ranges: fc.boolean(),
          tellsTotal: fc.boolean(),
          etag: fc.constantFrom('"v1"', 'W/"v1"', null),
          rangeLimit: fc.integer({ min: 1, max: 500 }),
          chunk: fc.integer({ min: 1, max: 500 }),
        }),
        async ({ size, pieceBytes, ...options }) => {
          const file = bytesOf(size);
          const { task } = serve({ file, ...options });
          const result = await run(task, pieceBytes);
          const { digest: wanted, pieces } = expected(file, pieceBytes);
          expect(result).toEqual({
            digest: wanted,
            pieces,
            bytes: size,
            pieceBytes,
            pieceCount: pieces.length,
            resumable: options.ranges && size > 0,
          });
        },
      ),
      { numRuns: 300 },
    );
  });

  it("asks for one piece at a time, with If-Range from the second on", async () => {
    const { server, task } = serve({ file: bytesOf(2500) });
    await run(task);
    expect(server.ranges).toEqual(["bytes=0-999", "bytes=1000-1999", "bytes=2000-2999"]);
    expect(server.requests.map((headers) => headers.get("if-range"))).toEqual([null, '"v1"', '"v1"']);
    expect(server.requests.every((headers) => headers.get("accept-encoding") === "identity")).toBe(true);
  });

  it("sends no weak validator as If-Range (RFC 9110 §13.1.5)", async () => {
    const lastModified = "Mon, 01 Jan 2029 00:00:00 GMT";
    const weak = serve({ file: bytesOf(1500), etag: 'W/"v1"', lastModified });
    await run(weak.task);
    expect(weak.server.requests[1]?.get("if-range")).toBeNull();

    const fresh = serve({ file: bytesOf(1500), etag: null, lastModified: DATE });
    await run(fresh.task);
    expect(fresh.server.requests[1]?.get("if-range")).toBeNull();

    const dated = serve({ file: bytesOf(1500), etag: null, lastModified });
    await run(dated.task);
    expect(dated.server.requests[1]?.get("if-range")).toBe(lastModified);
  });

  it("does not fetch pieces again that were done before a crash", async () => {
    const server = rangeServer({ file: bytesOf(5500) });
    let crashAfter: string | null = "piece/2";
    const task = fakeTask({
      fetch: server.fetch,
      afterStep: (key) => {
        if (key === crashAfter) throw new Error("The process was killed.");
      },
    });
    await expect(run(task)).rejects.toThrow("killed");
    expect(server.ranges).toHaveLength(3);

    crashAfter = null;
    server.ranges.length = 0;
    const result = await run(task);
    expect(server.ranges).toEqual(["bytes=3000-3999", "bytes=4000-4999", "bytes=5000-5999"]);
    expect(result).toMatchObject({ digest: expected(server.file, 1000).digest, bytes: 5500, resumable: true });
  });

  it("tells progress in bytes that only ever rises, over a crash too", async () => {
    let crash = true;
    const server = rangeServer({ file: bytesOf(5500) });
    const task = fakeTask({
      fetch: server.fetch,
      afterStep: (key) => {
        if (crash && key === "piece/3") throw new Error("The process was killed.");
      },
    });
    await rejection(run(task));
    crash = false;
    await run(task);
    const told = task.progress.map(({ progress }) => progress ?? -1);
    expect(told).toEqual([...new Set(told)].toSorted((one, other) => one - other));
    expect(task.progress[0]).toEqual({ message: "Piece 1 of 6 digested", progress: 1000, total: 5500 });
    expect(task.progress.at(-1)).toEqual({ message: "Piece 6 of 6 digested", progress: 5500, total: 5500 });
  });

  it("goes on from where a body broke off", async () => {
    const { server, task } = serve({ file: bytesOf(2000), bodyLimit: 400, chunk: 100 });
    expect((await run(task)).digest).toBe(expected(server.file, 1000).digest);
    expect(server.ranges.slice(0, 3)).toEqual(["bytes=0-999", "bytes=400-999", "bytes=800-999"]);
  });

  it("gives up for now when a server sends nothing any more, and may be tried again", async () => {
    const { server, task } = serve({ file: bytesOf(3000) });
    server.intercept = (_, index) => (index === 0 ? null : new TypeError("fetch failed"));
    const thrown = await rejection(run(task));
    expect(thrown).toMatchObject({ name: "ToolError", retry: true });
    expect((thrown as Error).message).toBe("files.example.com could not be reached, or sends no data.");

    server.intercept = () => null;
    server.ranges.length = 0;
    await run(task);
    expect(server.ranges).toEqual(["bytes=1000-1999", "bytes=2000-2999"]);
  });

  const changes: readonly (readonly [string, Partial<RangeServerOptions>, Partial<RangeServer>])[] = [
    ["its strong ETag", { etag: '"v1"' }, { etag: '"v2"' }],
    ["its weak ETag", { etag: 'W/"v1"' }, { etag: 'W/"v2"' }],
    ["its date", { etag: null, lastModified: DATE }, { lastModified: "Wed, 03 Jan 2029 00:00:00 GMT" }],
    ["its size", { etag: null }, { file: bytesOf(3500) }],
    ["its size, to less than was read", { etag: null }, { file: bytesOf(500) }],
  ];
  it.each(changes)("fails when the file changed between pieces, seen by %s", async (_, options, change) => {
    const { server, task } = serve({ file: bytesOf(3000), ...options });
    server.intercept = (__, index) => {
      if (index === 1) Object.assign(server, change);
      return null;
    };
    const thrown = await rejection(run(task));
    expect(thrown).toBeInstanceOf(ToolError);
    expect(thrown).toMatchObject({ message: expect.stringContaining("changed on the server"), retry: false });
  });

  it("fails, and may be tried again, when the same file suddenly comes without ranges", async () => {
    const { server, task } = serve({ file: bytesOf(3000) });
    server.intercept = (_, index) => (index === 1 ? new Response("all of it", { headers: { etag: '"v1"' } }) : null);
    expect(await rejection(run(task))).toMatchObject({
      message: expect.stringContaining("stopped serving ranges"),
      retry: true,
    });
  });

  it("refuses another range than it asked for", async () => {
    const { server, task } = serve({ file: bytesOf(3000) });
    server.intercept = (_, index) =>
      index === 1
        ? new Response("x".repeat(1000), {
            status: 206,
            headers: { etag: '"v1"', "content-range": "bytes 0-999/3000" },
          })
        : null;
    expect(await rejection(run(task))).toMatchObject({ message: expect.stringContaining("another range") });
  });

  it("tells which answers may pass and which will not", async () => {
    for (const [status, retry] of [
      [404, false],
      [403, false],
      [429, true],
      [503, true],
    ] as const) {
      const { server, task } = serve({ file: bytesOf(10) });
      server.intercept = () => new Response("no", { status });
      expect(await rejection(run(task))).toMatchObject({
        message: `The server answered the download with HTTP status ${status}.`,
        retry,
      });
    }
  });

  it("refuses compressed ranges, and compressions that fetch does not undo", async () => {
    const ranged = serve({ file: bytesOf(10) });
    ranged.server.intercept = () =>
      new Response("zzz", { status: 206, headers: { "content-encoding": "gzip", "content-range": "bytes 0-2/3" } });
    expect(await rejection(run(ranged.task))).toMatchObject({
      message: expect.stringContaining('"gzip"'),
      retry: false,
    });

    const odd = serve({ file: bytesOf(10) });
    odd.server.intercept = () => new Response("zzz", { headers: { "content-encoding": "exi" } });
    expect(await rejection(run(odd.task))).toMatchObject({ message: expect.stringContaining('"exi"'), retry: false });
  });

  it("reads a server without ranges once, and stores one step", async () => {
    const { server, task } = serve({ file: bytesOf(2500), ranges: false });
    const result = await run(task);
    expect(result).toMatchObject({ digest: expected(server.file, 1000).digest, resumable: false, pieceCount: 3 });
    expect(server.requests).toHaveLength(1);
    expect([...task.steps.keys()]).toEqual(["piece/0"]);
    expect(task.progress.map(({ progress }) => progress)).toEqual([1000, 2000, 2500]);

    await run(task);
    expect(server.requests).toHaveLength(1);
  });

  it("does not take a whole file that broke off for the file", async () => {
    const { task } = serve({ file: bytesOf(2500), ranges: false, bodyLimit: 1500 });
    expect(await rejection(run(task))).toMatchObject({
      message: "The download broke off after 1500 bytes.",
      retry: true,
    });
    expect(task.steps.size).toBe(0);

    const unsized = serve({ file: bytesOf(2500), ranges: false, tellsTotal: false, bodyLimit: 1500 });
    expect(await rejection(run(unsized.task))).toMatchObject({ message: "The download broke off after 1500 bytes." });
  });

  it("refuses a file of too many pieces before reading it, and says what would help", async () => {
    const { server, task } = serve({ file: bytesOf(0) });
    const tooLarge = 4096 * 1000 + 1;
    server.intercept = () =>
      new Response("x".repeat(1000), { status: 206, headers: { "content-range": `bytes 0-999/${tooLarge}` } });
    expect(await rejection(run(task))).toMatchObject({
      message: expect.stringContaining("larger pieceBytes"),
      retry: false,
    });
    expect(server.requests).toHaveLength(1);
  });

  it("stops when the task is aborted", async () => {
    const server = rangeServer({ file: bytesOf(5000) });
    const task = fakeTask({
      fetch: server.fetch,
      afterStep: (key) => key === "piece/1" && task.abort.abort(new Error("cancelled")),
    });
    await expect(run(task)).rejects.toThrow("cancelled");
    expect(server.requests).toHaveLength(2);
  });

  it("tells an abort in the middle of a body from a broken connection", async () => {
    for (const status of [200, 206]) {
      const { server, task } = serve({ file: bytesOf(10) });
      const breaking: UnderlyingSource = {
        pull: (controller) => {
          task.abort.abort(new Error("cancelled"));
          controller.error(new TypeError("terminated"));
        },
      };
      const body = new ReadableStream(breaking, { highWaterMark: 0 });
      server.intercept = () => new Response(body, { status, headers: { "content-range": "bytes 0-9/10" } });
      await expect(run(task)).rejects.toThrow("cancelled");
    }
  });

  it("passes the refusal of a URL on at once", async () => {
    const { server, task } = serve({ file: bytesOf(10) });
    const refusal = new ToolError("The URL leads to localhost.");
    server.intercept = () => refusal;
    expect(await rejection(run(task))).toBe(refusal);
    expect(server.requests).toHaveLength(1);
  });

  it("takes 4 MiB pieces and does not list them when not told otherwise", async () => {
    const { task } = serve({ file: bytesOf(1500) });
    const result = await digest.run({ url: FILE }, task.context());
    expect(result).toMatchObject({ pieceBytes: 4_194_304, pieceCount: 1 });
    expect(result).not.toHaveProperty("pieces");
  });

  it("takes pieces of 64 KiB to 16 MiB, and a URL", () => {
    const tool = createRegistry([digest]).get("digest_download");
    expect(tool?.parseArguments({ url: FILE })).toEqual({ ok: true, value: { url: FILE } });
    expect(tool?.parseArguments({ url: "large.bin" })).toEqual({
      ok: false,
      message: "arguments: `url` must be a valid URL.",
    });
    expect(tool?.parseArguments({ url: FILE, pieceBytes: 65_535 })).toEqual({
      ok: false,
      message: "arguments.pieceBytes must be at least 65536.",
    });
    expect(tool?.parseArguments({ url: FILE, pieceBytes: 16_777_217 })).toEqual({
      ok: false,
      message: "arguments.pieceBytes must be at most 16777216.",
    });
  });
});

describe("digest_download against a real server", () => {
  let close = (): void => {};
  afterEach(() => close());

  async function digestFrom(handle: Parameters<typeof createServer>[0]): Promise<unknown> {
    const server = createServer(handle);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => server.close();
    const url = `http://127.0.0.1:${server.address().port}/file`;
    const task = fakeTask({ fetch: safeFetch({ allowLocal: true }) });
    return await digest.run({ url, pieceBytes: 100_000, listPieces: false }, task.context());
  }

  it("goes on after the connection was cut in the middle of a piece", async () => {
    const file = bytesOf(300_000);
    const asked: string[] = [];
    const result = await digestFrom((request, response) => {
      const range = request.headers["range"] ?? "";
      asked.push(range);
      const [first = 0, last = 0] = range.slice("bytes=".length).split("-").map(Number);
      const end = Math.min(last, file.length - 1);
      const length = end - first + 1;
      const facts = { etag: '"v1"', "content-range": `bytes ${first}-${end}/${file.length}`, "content-length": length };
      response.writeHead(206, facts);
      if (asked.length > 1) response.end(file.subarray(first, end + 1));
      else response.write(file.subarray(first, first + 30_000), () => response.destroy());
    });
    expect(result).toMatchObject({ digest: expected(file, 100_000).digest, bytes: 300_000, pieceCount: 3 });
    expect(asked.length).toBeGreaterThan(3);
  });

  it("digests the file itself when it comes compressed", async () => {
    const file = bytesOf(250_000);
    const result = await digestFrom((_, response) => {
      const sent = gzipSync(file);
      response.writeHead(200, { "content-encoding": "gzip", "content-length": sent.length });
      response.end(sent);
    });
    expect(result).toMatchObject({ digest: expected(file, 100_000).digest, bytes: 250_000, resumable: false });
  });
});
