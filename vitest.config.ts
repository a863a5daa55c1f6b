import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const inWorkerd = "test/**/*.workers.test.ts";
const ofStorage = "test/{stores,durable-objects,sessions,runners,faults}/**/*.workers.test.ts";
const withForeignClients = "test/clients/**/*.test.ts";

/** Machines are shared and slow at times; a test waits for conditions, and this only ends one that waits in vain. */
const PATIENCE_MS = 30_000;

export default defineConfig({
  test: {
    // Also where there are but two processors: much of a test is waiting.
    maxWorkers: 2,
    projects: [
      // Pure code and whole requests through the app, in plain Node: most tests.
      {
        test: {
          name: "node",
          testTimeout: PATIENCE_MS,
          include: ["test/**/*.test.ts"],
          exclude: [inWorkerd, withForeignClients],
        },
      },
      // What needs the runtime: objects, alarms, evictions, the cron. Storage is fresh for each file, not for each test.
      {
        plugins: [
          cloudflareTest({
            main: "./test/fixtures/worker.ts",
            wrangler: { configPath: "./wrangler.toml", environment: "conformance" },
          }),
        ],
        test: {
          name: "workers",
          testTimeout: PATIENCE_MS,
          include: [inWorkerd],
          exclude: [ofStorage],
          // Inside workerd there is no process.env.
          provide: {
            fuzz: {
              seed: Number(process.env["FUZZ_SEED"] ?? 20_260_728),
              runs: Number(process.env["FUZZ_RUNS"] ?? 20_000),
            },
          },
        },
      },
      // The objects by themselves, with the tools, limits and clock that each test gives them.
      {
        plugins: [
          cloudflareTest({
            main: "./test/stores/worker.ts",
            wrangler: { configPath: "./wrangler.toml", environment: "conformance" },
            // For the D1 store; a deployment that wants it binds a database of its own.
            miniflare: { d1Databases: ["DB"] },
          }),
        ],
        test: { name: "objects", testTimeout: PATIENCE_MS, include: [ofStorage] },
      },
      // Clients we did not write, against a local server: each file starts one of its own, and mostly waits for it.
      {
        test: {
          name: "clients",
          include: [withForeignClients],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
