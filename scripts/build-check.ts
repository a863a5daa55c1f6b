// Builds what `wrangler deploy` would upload, and holds its size against a limit.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";

/** docs/decisions/003-dependencies.md says what it is made of. */
const LIMIT_KIB = 130;

const ROOT = resolve(import.meta.dirname, "..");
const WRANGLER = resolve(ROOT, "node_modules/wrangler/bin/wrangler.js");

const UPLOAD = resolve(ROOT, "dist/upload");

rmSync(UPLOAD, { recursive: true, force: true });
const built = spawnSync(process.execPath, [WRANGLER, "deploy", "--dry-run", "--env", "", "--outdir", UPLOAD], {
  cwd: ROOT,
  stdio: "inherit",
  env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
});
if (built.status !== 0) throw new Error("`wrangler deploy --dry-run` failed; what it said stands above.");

// All modules one after the other, as wrangler counts them.
const names = readdirSync(UPLOAD).filter((name) => /\.m?js$/.test(name));
const worker = Buffer.concat(names.map((name) => readFileSync(resolve(UPLOAD, name))));
const zipped = gzipSync(worker).byteLength / 1024;
console.log(
  `\nThe Worker (${names.join(", ")}) is ${(worker.byteLength / 1024).toFixed(1)} KiB, ${zipped.toFixed(1)} KiB gzipped; at most ${LIMIT_KIB} are allowed.`,
);
if (zipped > LIMIT_KIB) {
  console.error("That is too large: look for a package that does not tree-shake.");
  process.exitCode = 1;
}
