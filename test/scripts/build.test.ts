import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const built: string[] = [];
afterAll(() => Promise.all(built.map((into) => rm(into, { recursive: true, force: true }))));

/** Builds as `wrangler dev` has it, and returns the folder it went to. */
async function build(source: string): Promise<string> {
  const name = `test-${process.pid}-${built.length}`;
  const into = join(ROOT, "dist", name);
  built.push(into);
  await promisify(execFile)(process.execPath, ["scripts/build.ts", source, name], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_COMMAND: "dev", MINIFY: "false" },
  });
  return into;
}

/** The build of a module with this text. */
async function buildOf(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-build-"));
  built.push(folder);
  const source = join(folder, "worker.ts");
  await writeFile(source, text);
  return build(source);
}

describe("a build", () => {
  it("puts what only A2A needs into a module of its own, which the main one imports when it must", async () => {
    const into = await build("src/index.ts");
    const [index, sdk] = await Promise.all(["index.js", "sdk.mjs"].map((name) => readFile(join(into, name), "utf8")));
    expect(index).toContain('import("./sdk.mjs")');
    expect(index).not.toMatch(/from "\.\/sdk\.mjs"/);
    expect(index).not.toContain("toCompatTask");
    expect(sdk).toContain("toCompatTask");
  });

  it("leaves maps whose sources are there, and types that lead to the source", async () => {
    const into = await build("src/index.ts");
    const { sources } = JSON.parse(await readFile(join(into, "index.js.map"), "utf8")) as { sources: string[] };
    expect(sources.filter((path) => !existsSync(resolve(into, path)))).toEqual([]);
    expect(await readFile(join(into, "index.d.ts"), "utf8")).toBe('export * from "../../src/index";\n');
    expect((await readdir(into)).toSorted()).toEqual([
      "index.d.ts",
      "index.js",
      "index.js.map",
      "sdk.mjs",
      "sdk.mjs.map",
    ]);
  });

  it("fails where an import leads nowhere", async () => {
    const text = 'import { lost } from "no-such-package";\nexport default lost;\n';
    await expect(buildOf(text)).rejects.toThrow("no-such-package");
  });

  it("imports Node's own modules by the names that the runtime has for them", async () => {
    const into = await buildOf('import { EventEmitter } from "events";\nexport default EventEmitter;\n');
    expect(await readFile(join(into, "index.js"), "utf8")).toContain('from "node:events"');
  });
});
