import { cp, mkdir, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** What the fixture Worker is built from. */
const SOURCES = [
  "wrangler.toml",
  "package.json",
  "tsconfig.json",
  "src",
  "durable-objects",
  "test/fixtures",
  "scripts",
];

/** `wrangler dev` reloads when a source changes, which would be a restart that nobody asked for: it serves a copy. */
export async function copyCheckout(into: string): Promise<string> {
  await mkdir(into, { recursive: true });
  for (const path of SOURCES) await cp(join(ROOT, path), join(into, path), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(into, "node_modules"));
  return into;
}
