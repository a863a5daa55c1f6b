// The official conformance suite against a local server. Strict: a failure that is not listed with its reason fails,
// a listed one that passes fails, and so does a warning.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { startDevServer } from "./support/dev-server.ts";

type Run = { readonly name: string; readonly args: readonly string[] };

// The tasks scenarios belong to no spec version, so they are in the first run only.
const runs: readonly Run[] = [
  { name: "all", args: ["--suite", "all"] },
  { name: "2026-07-28", args: ["--suite", "all", "--spec-version", "2026-07-28"] },
  { name: "2025-11-25", args: ["--requirements", "2025-11-25"] },
];

type Outcome = {
  readonly run: string;
  readonly scenarios: number;
  readonly "all passed": number;
  readonly checks: number;
  readonly "not passed": number;
  readonly skipped: number;
  readonly "as expected": boolean;
};

const ROOT = resolve(import.meta.dirname, "..");
const SUITE = resolve(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

const server = await startDevServer({ env: "conformance", minified: true });
const results = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
const outcomes: Outcome[] = [];
try {
  for (const run of runs) outcomes.push(await conform(run));
} finally {
  await server.stop();
  await rm(results, { recursive: true, force: true });
}
console.table(Object.fromEntries(outcomes.map(({ run, ...rest }) => [run, rest])));
if (outcomes.some((outcome) => !outcome["as expected"])) {
  console.error("The conformance suite did not come out as expected.");
  process.exitCode = 1;
}

async function conform({ name, args }: Run): Promise<Outcome> {
  console.log(`\n${args.join(" ")}`);
  const expected = resolve(ROOT, `test/conformance/expected-failures.${name}.yml`);
  const into = join(results, name);
  const suite = ["server", "--url", `${server.url}/mcp`, ...args];
  const { code, output } = await nodeRun([SUITE, ...suite, "--expected-failures", expected, "--output-dir", into]);
  const checks = await readChecks(into);
  // No scenario run at all would be no failure to the suite.
  const asExpected = code === 0 && checks.length > 0;
  // The suite's own story is long; it is worth reading when it surprises.
  console.log(
    asExpected ? output.slice(output.indexOf("=== SUMMARY ==="), output.indexOf("Expected failures")) : output,
  );
  const count = (statuses: readonly string[]) => checks.flat().filter(({ status }) => statuses.includes(status)).length;
  return {
    run: name,
    scenarios: checks.length,
    "all passed": checks.filter((scenario) => !scenario.some(({ status }) => isBad(status))).length,
    checks: count(["SUCCESS", "FAILURE", "WARNING"]),
    "not passed": count(["FAILURE", "WARNING"]),
    skipped: count(["SKIPPED"]),
    "as expected": asExpected,
  };
}

type Check = { readonly id: string; readonly status: string };

function isBad(status: string): boolean {
  return status === "FAILURE" || status === "WARNING";
}

/** One list of checks for each scenario that ran. */
async function readChecks(folder: string): Promise<readonly (readonly Check[])[]> {
  const scenarios = await readdir(folder).catch(() => []);
  return Promise.all(
    scenarios.map(async (name) => JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8")) as Check[]),
  );
}

function nodeRun(args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) =>
    child.once("close", (code) => resolve({ code, output: stripVTControlCharacters(output) })),
  );
}
