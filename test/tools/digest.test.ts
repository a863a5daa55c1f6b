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

const MONDAY = "Mon, 01 Jan 2029 00:00:00 GMT";

const FILE = "https://files.example.com/large.bin";

const bytesOf = (size: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: size }, (_, index) => (index * 31 + (index >> 8)) & 0xff);

/** The construction again, written independently: SHA-256 over the raw SHA-256 of each slice. */
function expected(file: Uint8Array, pieceBytes: number, resumable = true): object {
  const list = createHash("sha256");
  for (let at = 0; at < file.length; at += pieceBytes) {
    const piece = createHash("sha256").update(file.subarray(at, at + pieceBytes));
    list.update(piece.digest());
  }
  const pieceCount = Math.ceil(file.length / pieceBytes);
  return { digest: list.digest().toString("hex"), bytes: file.length, pieceBytes, pieceCount, resumable };
}

const run = async (task: FakeTask, pieceBytes = 1000): Promise<unknown> =>
  await digest.run({ url: FILE, pieceBytes }, task.context());

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
  it("gives the digest over the list of piece digests, whatever the sizes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          size: fc.integer({ min: 0, max: 400 }),
          pieceBytes: fc.integer({ min: 1, max: 150 }),
          etag: fc.constantFrom('"v1"', 'W/"v1"', null),
          ranges: fc.boolean(),
          chunk: fc.integer({ min: 1, max: 500 }),
        }),
        async ({ size, pieceBytes, ...options }) => {
          const file = bytesOf(size);
          const { task } = serve({ file, ...options });
          // Of nothing there is no range.
          expect(await run(task, pieceBytes)).toEqual(expected(file, pieceBytes, options.ranges && size > 0));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("asks for one piece at a time, as it is", async () => {
    const { server, task } = serve({ file: bytesOf(2500) });
    await run(task);
    expect(server.ranges).toEqual(["bytes=0-999", "bytes=1000-1999", "bytes=2000-2999"]);
    expect(server.requests.every((headers) => headers.get("accept-encoding") === "identity")).toBe(true);
  });

  it("does not fetch pieces again that were done before a crash", async () => {
    const server = rangeServer({ file: bytesOf(5500) });
    let crashAfter: string | null = "from 2000";
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
    expect(result).toEqual(expected(server.file, 1000));
  });

  it("tells progress in bytes that only ever rises, over a crash too", async () => {
    let crash = true;
    const server = rangeServer({ file: bytesOf(5500) });
    const task = fakeTask({
      fetch: server.fetch,
      afterStep: (key) => {
        if (crash && key === "from 3000") throw new Error("The process was killed.");
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

  it.each([true, false])("does not take for the file what broke off; with ranges: %s", async (ranges) => {
    const { task } = serve({ file: bytesOf(1000), ranges, bodyLimit: 400, chunk: 100 });
    expect(await rejection(run(task))).toMatchObject({
      message: "files.example.com could not be reached, or broke off.",
      retry: true,
    });
    expect(task.steps.size).toBe(0);
  });

  it("takes no shorter part for the piece", async () => {
    const { task } = serve({ file: bytesOf(2000), rangeLimit: 400 });
    expect(await rejection(run(task))).toMatchObject({ message: expect.stringContaining("broke off"), retry: true });
  });

  it("gives up for now when a server sends nothing any more, and may be tried again", async () => {
    const { server, task } = serve({ file: bytesOf(3000) });
    server.intercept = (_, index) => (index === 0 ? null : new TypeError("fetch failed"));
    const thrown = await rejection(run(task));
    expect(thrown).toMatchObject({ name: "ToolError", retry: true });
    expect((thrown as Error).message).toBe("files.example.com could not be reached, or broke off.");

    server.intercept = () => null;
    server.ranges.length = 0;
    await run(task);
    expect(server.ranges).toEqual(["bytes=1000-1999", "bytes=2000-2999"]);
  });

  const changes: readonly (readonly [string, Partial<RangeServerOptions>, Partial<RangeServer>])[] = [
    ["its strong ETag", { etag: '"v1"' }, { etag: '"v2"' }],
    ["its weak ETag", { etag: 'W/"v1"' }, { etag: 'W/"v2"' }],
    ["its date", { etag: null, lastModified: MONDAY }, { lastModified: "Wed, 03 Jan 2029 00:00:00 GMT" }],
    ["its size", { etag: null }, { file: bytesOf(3500) }],
  ];
  it.each(changes)("fails when the file changed between pieces, seen by %s", async (_, options, change) => {
    const { server, task } = serve({ file: bytesOf(3000), ...options });
    server.intercept = (__, index) => {
      if (index === 1) Object.assign(server, change);
      return null;
    };
    const thrown = await rejection(run(task));
    expect(thrown).toBeInstanceOf(ToolError);
    expect(thrown).toMatchObject({ message: expect.stringContaining("The file changed"), retry: false });
  });

  it.each([
    ["nothing, for it became shorter", {}, { file: bytesOf(500) }, 416],
    ["the whole file", {}, { intercept: () => new Response("all of it") }, 200],
    [
      "another range",
      {},
      { intercept: () => new Response("x", { status: 206, headers: { "content-range": "bytes 0-999/3000" } }) },
      206,
    ],
  ] as const)("refuses %s in place of a piece", async (_, options, change, status) => {
    const { server, task } = serve({ file: bytesOf(3000), ...options });
    const context = task.context();
    const { step } = context;
    const run = digest.run(
      { url: FILE, pieceBytes: 1000 },
      {
        ...context,
        step: async (key, fn) => {
          const stored = await step(key, fn);
          Object.assign(server, change);
          return stored;
        },
      },
    );
    expect(await rejection(Promise.resolve(run))).toMatchObject({
      message: expect.stringMatching(`HTTP status ${status}, not with the plain bytes from \\d+ on`),
      retry: false,
    });
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
        message: `The server answered with HTTP status ${status}, not with the plain bytes from 0 on.`,
        retry,
      });
    }
  });

  it("refuses compressed ranges", async () => {
    const { server, task } = serve({ file: bytesOf(10) });
    server.intercept = () =>
      new Response("zzz", { status: 206, headers: { "content-encoding": "gzip", "content-range": "bytes 0-2/3" } });
    expect(await rejection(run(task))).toMatchObject({ message: expect.stringContaining("plain bytes"), retry: false });
  });

  it("reads a server without ranges in one go", async () => {
    const { server, task } = serve({ file: bytesOf(2500), ranges: false });
    expect(await run(task)).toEqual(expected(server.file, 1000, false));
    expect(task.progress.map(({ message }) => message)).toEqual([1, 2, 3].map((n) => `Piece ${n} digested`));
    expect(task.progress.at(-1)).toEqual({ message: "Piece 3 digested", progress: 2500 });
    await run(task);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["is refused: the file may be shorter", 416, "bytes */700"],
    ["is of a file whose size is not told", 206, "bytes 0-699/*"],
  ])("asks without a range where the first one %s", async (_, status, range) => {
    const { server, task } = serve({ file: bytesOf(700), ranges: false });
    const answer = { status, headers: { "content-range": range } };
    server.intercept = (__, index) => (index === 0 ? new Response("no", answer) : null);
    expect(await run(task)).toEqual(expected(server.file, 1000, false));
    expect(server.requests.map((headers) => headers.has("range"))).toEqual([true, false]);
  });

  it("does not mind a validator that only some answers have, nor an encoding that is none", async () => {
    const file = bytesOf(2000);
    const { server, task } = serve({ file });
    server.intercept = (_, index) =>
      new Response(file.subarray(index * 1000, index * 1000 + 1000), {
        status: 206,
        headers: {
          "content-range": `bytes ${index * 1000}-${index * 1000 + 999}/2000`,
          "content-encoding": "identity",
          ...(index === 0 && { etag: '"v1"' }),
        },
      });
    expect(await run(task)).toEqual(expected(file, 1000));
  });

  it("minds a validator that came later than the first answer, and compares like with like", async () => {
    const answers = (facts: readonly Readonly<Record<string, string>>[]) => {
      const { server, task } = serve({ file: bytesOf(3000) });
      server.intercept = (_, index) => {
        const range = `bytes ${index * 1000}-${index * 1000 + 999}/3000`;
        return new Response(new Uint8Array(1000), {
          status: 206,
          headers: { "content-range": range, ...facts[index] },
        });
      };
      return run(task);
    };
    expect(await rejection(answers([{}, { etag: '"v1"' }, { etag: '"v2"' }]))).toMatchObject({
      message: expect.stringContaining("The file changed"),
    });
    const date = { "last-modified": MONDAY };
    expect(await answers([{ etag: '"v1"', ...date }, date, { etag: '"v1"' }])).toMatchObject({ pieceCount: 3 });
  });

  it("reads no further than the range it asked for", async () => {
    const { server, task } = serve({ file: bytesOf(3000) });
    let cancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(500)),
      cancel: () => void (cancelled = true),
    });
    const headers = { "content-range": "bytes 0-2999/3000" };
    server.intercept = () => new Response(endless, { status: 206, headers });
    expect(await rejection(run(task))).toMatchObject({ message: expect.stringContaining("more than"), retry: false });
    expect(cancelled).toBe(true);
  });

  it("returns the digest of each piece, if asked to", async () => {
    const { server, task } = serve({ file: bytesOf(1500) });
    const sha = (piece: Uint8Array): string => createHash("sha256").update(piece).digest().toString("hex");
    expect(await digest.run({ url: FILE, pieceBytes: 1000, listPieces: true }, task.context())).toEqual({
      ...expected(server.file, 1000),
      pieces: [sha(server.file.subarray(0, 1000)), sha(server.file.subarray(1000))],
    });
  });

  it("refuses a file of too many pieces before it reads on, and says what would help", async () => {
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
      afterStep: (key) => key === "from 1000" && task.abort.abort(new Error("cancelled")),
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

  it("takes 4 MiB pieces when not told otherwise", async () => {
    const { server, task } = serve({ file: bytesOf(1500) });
    expect(await digest.run({ url: FILE }, task.context())).toEqual(expected(server.file, 4_194_304));
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
    return await digest.run({ url, pieceBytes: 300_000 }, task.context());
  }

  it("may be tried again after the connection was cut in the middle of a piece", async () => {
    const digesting = digestFrom((_, response) => {
      response.writeHead(206, { "content-range": "bytes 0-299999/500000", "content-length": 300_000 });
      response.write(bytesOf(30_000), () => response.destroy());
    });
    expect(await rejection(digesting)).toMatchObject({ name: "ToolError", retry: true });
  });

  it("digests the file itself when it comes compressed", async () => {
    const file = bytesOf(250_000);
    const result = await digestFrom((_, response) => {
      const sent = gzipSync(file);
      response.writeHead(200, { "content-encoding": "gzip", "content-length": sent.length });
      response.end(sent);
    });
    expect(result).toEqual(expected(file, 300_000, false));
  });
});
