// ARCHITECTURE.md, held against the source.
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { settings } from "../src/env";

const SETTINGS = settings();

/**
 * What each room may import: other rooms and packages. A room is a folder or a file; a file belongs to the longest name
 * that fits. Within a room everything may be imported. What is not listed here does not exist.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "src/task": [],
  "src/record": ["src/task"],
  "src/tool": ["src/task", "zod", "@cfworker/json-schema"],
  "src/tools": ["src/tool", "src/task", "zod"],
  "src/service": ["src/task", "src/tool", "src/record", "src/clock.ts", "src/task-id.ts"],
  "durable-objects": [
    "src/service",
    "src/tool",
    "src/task",
    "src/record",
    "src/clock.ts",
    "src/task-id.ts",
    // The type of the settings alone.
    "src/env.ts",
    "cloudflare:workers",
  ],

  "src/mcp": [
    "src/service",
    "src/tool",
    "src/task",
    "src/json-rpc.ts",
    "src/respond.ts",
    "src/json.ts",
    "src/media-types.ts",
    "src/auth.ts",
    "src/body.ts",
    "src/until-expiry.ts",
    "src/seal.ts",
    "src/list-cursor.ts",
    "src/base64url.ts",
    "src/clock.ts",
    "src/env.ts",
    "hono",
    // Its version, to tell clients.
    "package.json",
  ],

  "src/a2a": [
    "src/service",
    "src/tool",
    "src/task",
    "src/cors.ts",
    "src/json.ts",
    "src/media-types.ts",
    "src/event-stream.ts",
    "src/slow-answer.ts",
    "src/auth.ts",
    "src/body.ts",
    "src/until-expiry.ts",
    "src/seal.ts",
    "src/list-cursor.ts",
    "src/base64url.ts",
    "src/clock.ts",
    "src/env.ts",
    "hono",
    "@a2a-js/sdk",
    // Its version, for the agent card.
    "package.json",
  ],

  "src/store-api": [
    "src/service",
    "src/tool",
    "src/task",
    "src/record",
    "src/json.ts",
    "src/media-types.ts",
    "src/event-stream.ts",
    "src/slow-answer.ts",
    "src/auth.ts",
    "src/until-expiry.ts",
    "src/clock.ts",
    "src/env.ts",
    "src/body.ts",
    "src/base64url.ts",
    "src/remote-tool-schema.ts",
    "src/task-id.ts",
    "hono",
    "cloudflare:workers",
  ],
  // What others import: a client, a suite for stores, a store.
  "src/client": ["src/store-api", "src/record", "src/task"],
  "src/kit": ["src/store-api", "src/record", "src/task"],
  "src/d1": ["src/service", "src/tool", "src/task", "src/record", "src/clock.ts", "src/task-id.ts"],

  "src/app.ts": [
    "src/mcp",
    "src/a2a",
    "src/store-api",
    "src/auth.ts",
    "src/cors.ts",
    "src/flood-guard.ts",
    "src/oauth.ts",
    "src/protected-resource.ts",
    "hono",
  ],
  "src/holdfast.ts": [
    "durable-objects",
    "src/app.ts",
    "src/mcp",
    "src/a2a",
    "src/store-api",
    "src/service",
    "src/tool",
    "src/task",
    "src/clock.ts",
    "src/env.ts",
    "src/seal.ts",
  ],
  "src/index.ts": ["src/holdfast.ts", "src/tools", "durable-objects"],

  "src/auth.ts": ["src/env.ts", "src/jwks.ts", "src/loopback.ts", "src/oauth.ts", "src/service"],
  "src/base64url.ts": [],
  "src/body.ts": ["src/task"],
  "src/clock.ts": [],
  "src/cors.ts": ["src/json-rpc.ts", "src/origin.ts", "hono"],
  "src/env-faults.ts": ["src/loopback.ts"],
  "src/setting-kinds.ts": ["src/env.ts", "src/origin.ts", "src/record", "src/remote-tool-schema.ts", "src/tool", "zod"],
  "src/env.ts": [
    "src/env-faults.ts",
    "src/setting-kinds.ts",
    "src/service",
    "src/record",
    "src/tool",
    "src/task",
    "zod",
  ],
  "src/remote-tool-schema.ts": ["src/task", "src/tool", "zod"],
  "src/event-stream.ts": ["hono"],
  "src/flood-guard.ts": ["src/json-rpc.ts", "src/respond.ts", "hono"],
  "src/slow-answer.ts": [],
  "src/json.ts": ["src/task"],
  "src/json-rpc.ts": ["src/event-stream.ts", "src/task", "hono"],
  "src/jwks.ts": ["src/clock.ts", "src/task", "jose"],
  "src/loopback.ts": [],
  "src/media-types.ts": ["src/json-rpc.ts"],
  "src/oauth.ts": ["src/clock.ts", "src/env.ts", "src/service", "src/task", "jose"],
  "src/origin.ts": ["src/loopback.ts"],
  "src/protected-resource.ts": ["src/cors.ts", "src/env.ts", "src/oauth.ts", "hono"],
  "src/respond.ts": ["src/event-stream.ts", "src/json-rpc.ts", "src/task", "hono"],
  "src/list-cursor.ts": ["src/clock.ts", "src/seal.ts", "src/service", "src/task"],
  "src/seal.ts": ["src/base64url.ts", "src/clock.ts", "src/task"],
  "src/task-id.ts": ["src/base64url.ts"],
  "src/until-expiry.ts": ["src/clock.ts", "src/service"],
};

/** One more arrow for the file in which a protocol's data is parsed, and for the one that hands over to a revision. */
const FILE_MAY_IMPORT = (path: string): readonly string[] => [
  ...(path.endsWith("/schemas.ts") ? ["zod"] : []),
  ...(path.endsWith("/routes.ts") ? ["revision"] : []),
];

const SMALL_ZOD = /^import (type )?\* as z from "zod\/(mini|v4\/core)";$/;

const ROOT = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const sources = globSync(["src/**/*.ts", "durable-objects/**/*.ts"], { cwd: ROOT }).sort();

type Import = { readonly path: string; readonly target: string; readonly statement: string };
const imports = sources.flatMap(importsOf);

describe("the rooms", () => {
  it("finds the source", () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(imports.length).toBeGreaterThan(sources.length);
  });

  it("has a line here for every file", () => {
    expect(sources.filter((path) => roomOf(path) === null)).toEqual([]);
  });

  it("only import what they may", () => {
    const wrong = imports.filter(({ path, target }) => {
      const from = roomOf(path) ?? path;
      const to = roomOf(target) ?? target;
      if (from === to)
        return revisionOf(target) !== null && revisionOf(target) !== revisionOf(path) && !mayRevision(path);
      return ![...(MAY_IMPORT[from] ?? []), ...FILE_MAY_IMPORT(path)].includes(to);
    });
    expect(wrong.map(({ path, target }) => `${path} imports ${target}`)).toEqual([]);
  });

  it("have only the composition root know both the objects and the protocols", () => {
    const knows = (path: string, room: string) =>
      imports.some((found) => found.path === path && roomOf(found.target) === room);
    const both = sources.filter(
      (path) => knows(path, "durable-objects") && (knows(path, "src/mcp") || knows(path, "src/app.ts")),
    );
    expect(both).toEqual(["src/holdfast.ts"]);
  });
});

describe("the source", () => {
  it("imports zod as a namespace, which is what lets a bundler drop most of it, and in its small form", () => {
    const wrong = imports.filter(({ path, target, statement }) => {
      // A deployer's tools may pay for the other form.
      const small = path.startsWith("src/tools/") ? /^import \* as z from "zod(\/mini)?";$/ : SMALL_ZOD;
      return target === "zod" && !small.test(statement);
    });
    expect(wrong).toEqual([]);
  });

  it("loads the SDK of A2A in one place, which is not loaded until it is needed", () => {
    const loads = imports.filter(
      ({ target, statement }) => target === "@a2a-js/sdk" && !statement.startsWith("import type "),
    );
    expect([...new Set(loads.map(({ path }) => path))]).toEqual(["src/a2a/sdk.ts"]);
    const needed = imports.filter(
      ({ target, statement }) => target === "src/a2a/sdk.ts" && !statement.startsWith("import type "),
    );
    expect(needed.length).toBeGreaterThan(0);
    expect(needed.filter(({ statement }) => !statement.startsWith("import("))).toEqual([]);
  });

  it("makes its apps with the smallest of Hono's routers", () => {
    const apps = imports.filter(({ target, statement }) => target === "hono" && /\bHono\b/.test(statement));
    expect(apps.length).toBeGreaterThan(1);
    expect(apps.filter(({ statement }) => statement !== 'import { Hono } from "hono/tiny";')).toEqual([]);
  });

  it("keeps a file to one idea", () => {
    const long = sources
      .map((path) => ({ path, lines: read(path).trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > 300);
    expect(long).toEqual([]);
  });
});

describe("ARCHITECTURE.md", () => {
  const named = [
    ...read("ARCHITECTURE.md").matchAll(/`((?:src|durable-objects|test|scripts|docs|\.ci)(?:\/[\w.@/-]*)?)`/g),
  ].map((match) => normalize(match[1] ?? "").replace(/\/$/, ""));

  it("names only what exists", () => {
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("names every file, or the folder it is in", () => {
    const folders = named.filter((path) => path !== "src" && statSync(join(ROOT, path)).isDirectory());
    const unnamed = sources.filter(
      (path) => !named.includes(path) && !folders.some((folder) => path.startsWith(`${folder}/`)),
    );
    expect(unnamed).toEqual([]);
  });

  it("has the arrows of this test", () => {
    const [, arrows = ""] = read("ARCHITECTURE.md").split("## Arrows");
    for (const [from, targets] of Object.entries(MAY_IMPORT)) {
      if (from.endsWith(".ts")) continue;
      const row = rowOf(arrows, from);
      const rooms = targets.filter((target) => /^(src\/[a-z]+|durable-objects)$/.test(target));
      for (const room of rooms) expect(row).toContain(`\`${room}\``);
    }
  });
});

describe("the settings", () => {
  it.each(SETTINGS.map((setting) => [setting.name, setting] as const))(
    "%s stands in README.md as it is",
    (name, setting) => {
      const row = rowOf(read("README.md"), name);
      const value = setting.default === null ? "unset" : `\`${setting.default}\``;
      expect(row.startsWith(`| \`${name}\` | ${value} | `), row).toBe(true);
      // What it is for, in some words; and that it is one, of a secret.
      expect(row.endsWith(setting.secret ? " (secret) |" : " |"), row).toBe(true);
      expect(row.split(" | ").at(-1)?.length).toBeGreaterThan(20);
    },
  );

  it("that are no secrets stand in wrangler.toml at their defaults", () => {
    const [config = ""] = read("wrangler.toml").split("[env.");
    for (const { name, default: value, secret } of SETTINGS) {
      if (secret) expect(config).not.toMatch(new RegExp(`^#? ?${name} =`, "m"));
      else if (value === null) expect(config).toMatch(new RegExp(`^# ${name} = `, "m"));
      else expect(config).toContain(`# ${name} = ${value.includes('"') ? `'${value}'` : `"${value}"`}\n`);
    }
  });

  it("that are secrets are described for whoever deploys, and stand in .dev.vars.example", () => {
    const { cloudflare } = JSON.parse(read("package.json")) as { cloudflare: { bindings: Record<string, unknown> } };
    const secrets = SETTINGS.filter(({ secret }) => secret).map(({ name }) => name);
    expect(Object.keys(cloudflare.bindings).sort()).toEqual([...secrets].sort());
    for (const name of secrets) expect(read(".dev.vars.example")).toMatch(new RegExp(`^${name}=`, "m"));
  });
});

/** The row of a table whose first cell is this name. */
function rowOf(table: string, name: string): string {
  return table.split("\n").find((line) => line.startsWith(`| \`${name}\` |`)) ?? `There is no row for ${name}.`;
}

function importsOf(path: string): readonly Import[] {
  const statements = read(path).matchAll(
    /^(?:import|export)\b[^;]*?from "([^"]+)";|\bimport\("([^"]+)"\)|^import "([^"]+)";/gm,
  );
  return [...statements].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? "";
    return {
      path,
      statement: match[0],
      target: specifier.startsWith(".") ? resolved(path, specifier) : packageOf(specifier),
    };
  });
}

function resolved(from: string, specifier: string): string {
  const path = normalize(join(dirname(from), specifier));
  return (
    [path, `${path}.ts`, `${path}/index.ts`].find((file) => /\.\w+$/.test(file) && existsSync(join(ROOT, file))) ?? path
  );
}

function packageOf(specifier: string): string {
  if (specifier.startsWith("cloudflare:")) return specifier;
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

function roomOf(path: string): string | null {
  const fits = Object.keys(MAY_IMPORT).filter((room) => path === room || path.startsWith(`${room}/`));
  return fits.sort((a, b) => b.length - a.length)[0] ?? null;
}

/** A protocol's revision is a folder named by its date. */
const revisionOf = (path: string): string | null => /\/(\d{4}-\d{2}-\d{2})\//.exec(path)?.[1] ?? null;

const mayRevision = (path: string): boolean => FILE_MAY_IMPORT(path).includes("revision");
