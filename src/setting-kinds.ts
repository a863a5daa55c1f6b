import * as z from "zod/mini";
import type { TokenEntry } from "./env";
import { parseOrigin } from "./origin";
import type { Namespace } from "./record/record";
import { remoteToolSchema } from "./remote-tool-schema";
import type { RemoteTool } from "./tool/remote-tool";
import { among, integer, matching, within } from "./tool/checks";

/** What a setting may be: in words, for the error that refuses it, and as a schema of the value that its text stands for. */
export type Kind<T> = {
  readonly range: string;
  readonly valueOf: (text: string) => unknown;
  readonly schema: z.ZodMiniType<T>;
};

/** 100 years: any time plus this is still a date. */
const LONGEST_MS = 3_153_600_000_000;
/** What fits in one RPC message (32 MiB on Workers) when each character takes two bytes there. */
const LARGEST_BYTES = 15_728_640;

const itself = (text: string): string => text;
export const whole = (min: number, max: number, what = "a whole number"): Kind<number> => ({
  range: `${what} from ${min} to ${max}`,
  valueOf: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : text),
  schema: z.number().check(within(min, max)),
});
export const milliseconds = (min = 1, max = LONGEST_MS) => whole(min, max, "a whole number of milliseconds");
export const bytes = () => whole(1024, LARGEST_BYTES, "a whole number of bytes");
export const orUnlimited = ({ range, valueOf, schema }: Kind<number>): Kind<number | null> => ({
  range: `${range}, or "unlimited"`,
  valueOf: (text) => (text === "unlimited" ? null : valueOf(text)),
  schema: z.nullable(schema),
});
export const oneOf = <const T extends string>(...options: readonly T[]): Kind<T> => ({
  range: options.map((option) => `"${option}"`).join(" or "),
  valueOf: itself,
  schema: among(options),
});
export const flag = (): Kind<boolean> => ({
  range: '"true" or "false"',
  valueOf: (text) => text === "true" || (text === "false" ? false : text),
  schema: z.boolean(),
});
export const origins: Kind<readonly string[]> = {
  range: 'a comma-separated list of origins such as "https://app.example, http://localhost:3000"',
  valueOf: (text) => text.split(",").map((item) => parseOrigin(item.trim())),
  schema: z.array(z.string()),
};
export const tokens: Kind<readonly TokenEntry[]> = {
  range:
    'a JSON list such as [{ "sha256": "<SHA-256 of the token, 64 hex digits>", "subject": "alice", "scopes": ["client"] }] ' +
    "with at least one entry, no token twice, and scopes among client, worker and admin",
  valueOf: parsedOrNull,
  schema: z
    .array(
      z.strictObject({
        sha256: z.string().check(
          z.overwrite((hex) => hex.toLowerCase()),
          matching(/^[0-9a-f]{64}$/),
        ),
        subject: z.string().check(within(1, 256)),
        scopes: z.array(among(["client", "worker", "admin"])).check(within(1)),
      }),
    )
    .check(
      within(1),
      z.refine((entries) => new Set(entries.map((entry) => entry.sha256)).size === entries.length),
    ),
};
export const webUrl: Kind<string> = {
  range: "an absolute https URL without query and fragment",
  valueOf: itself,
  schema: z.string().check(z.refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? "") && !/[?#]/.test(text))),
};
export const audience: Kind<string> = {
  range: 'a name of 2 to 1024 characters without spaces, such as "https://holdfast.example/mcp"',
  valueOf: itself,
  schema: z.string().check(matching(/^\S{2,1024}$/)),
};
/** A list of JSON, each entry of it by its own schema, no name twice. */
const listOf = <T extends { readonly name: string }>(range: string, entry: z.ZodMiniType<T>): Kind<readonly T[]> => ({
  range,
  valueOf: parsedOrNull,
  schema: z.array(entry).check(z.refine((list) => new Set(list.map(({ name }) => name)).size === list.length)),
});
const NAMESPACE = { kind: "task", owners: "separate", zeroTtl: "expires", list: true, revisions: 20 } as const;
export const namespaces = listOf<Namespace>(
  'a JSON list such as [{ "name": "orders", "kind": "task", "owners": "strict", "zeroTtl": "expires", "list": true, "revisions": 20 }], ' +
    "no name twice; kind is task or document, owners is separate, strict, lenient or none, zeroTtl is expires or never",
  z
    .strictObject({
      name: z.string().check(matching(/^[A-Za-z0-9_-]{1,64}$/)),
      kind: z.optional(among(["task", "document"])),
      owners: z.optional(among(["separate", "strict", "lenient", "none"])),
      zeroTtl: z.optional(among(["expires", "never"])),
      list: z.optional(z.boolean()),
      revisions: z.optional(integer().check(within(1, 1000))),
    })
    .check(z.overwrite((given) => ({ ...NAMESPACE, ...given }))) as unknown as z.ZodMiniType<Namespace>,
);
export const remoteTools = listOf<RemoteTool>(
  'a JSON list such as [{ "name": "render", "description": "Renders a scene.", "inputSchema": { "type": "object" }, "queue": "gpu" }], ' +
    "no name twice; title, outputSchema, task (required or optional), asks, ttlMs, pollIntervalMs, maxAttempts and annotations may follow",
  remoteToolSchema,
);
export const secretText: Kind<string> = {
  range: "a secret text of at least 32 characters, such as `openssl rand -base64 32` prints",
  valueOf: itself,
  schema: z.string().check(within(32)),
};

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
