// Builds a Worker: what `[build]` in wrangler.toml runs before it serves or uploads. Two modules come of it, so that what speaks
// A2A's wire is evaluated by the first request that needs it, and by no other.
// Usage: npm run build [-- SOURCE NAME], for src/index.ts and `worker` if left out. NAME is the folder of dist it goes to.
import { builtinModules } from "node:module";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { flushSql } from "./build/flush-sql.ts";
import { smallest } from "./build/smallest.ts";
import { splitConverters } from "./build/split-converters.ts";
import { unusedTables } from "./build/unused-tables.ts";

const ROOT = resolve(import.meta.dirname, "..");
const [source = "src/index.ts", name = "worker"] = process.argv.slice(2);
const into = resolve(ROOT, "dist", name);

// To be served on this machine the code stays as written, and is built in a tenth of the time; MINIFY=true tries what ships.
const isLocal = ["dev", "types"].includes(process.env["WRANGLER_COMMAND"] ?? "") && process.env["MINIFY"] !== "true";

/** A module of Node by its old name, as older packages write it. */
const nodeModules: Plugin = {
  name: "node-modules",
  resolveId: (id) => (builtinModules.includes(id) ? { id: `node:${id}`, external: true } : null),
};

const bundle = await rolldown({
  cwd: ROOT,
  input: { index: source },
  external: [/^cloudflare:/, /^node:/],
  platform: "browser",
  resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
  transform: { target: "es2024" },
  checks: { bundlerTimings: false },
  // What cannot be found here will not be there either.
  onLog: (level, log, next) => {
    if (log.code === "UNRESOLVED_IMPORT") throw new Error(log.message);
    next(level, log);
  },
  // No getter of ours or of our packages does anything but give a value.
  treeshake: { propertyReadSideEffects: false },
  plugins: isLocal ? [nodeModules] : [nodeModules, flushSql, splitConverters, unusedTables, smallest],
});
const { output } = await bundle.generate({
  // Where the source maps will lie.
  dir: into,
  format: "esm",
  minify: !isLocal,
  comments: false,
  sourcemap: true,
  // Beside the main module wrangler takes those that `rules` in wrangler.toml names.
  chunkFileNames: "[name].mjs",
});
await bundle.close();

const files = new Map(output.map((file) => [file.fileName, file.type === "chunk" ? file.code : String(file.source)]));
// The types of the bindings name the classes of what is deployed.
files.set(
  "index.d.ts",
  `export * from "${relative(into, resolve(ROOT, source)).replaceAll("\\", "/").replace(/\.ts$/, "")}";\n`,
);
await mkdir(into, { recursive: true });
for (const [file, text] of files) await put(file, text);
// All modules of the folder are uploaded, one that an earlier build left too. Names with a dot are drafts, of others maybe.
for (const file of await readdir(into)) {
  if (!file.startsWith(".") && !files.has(file)) await rm(join(into, file), { recursive: true });
}

/** Whole or not at all, and only when it is new: several servers may be building, and reading. */
async function put(file: string, text: string): Promise<void> {
  const path = join(into, file);
  if ((await readFile(path, "utf8").catch(() => null)) === text) return;
  const draft = join(into, `.${file}.${process.pid}`);
  await writeFile(draft, text);
  await rename(draft, path);
}
