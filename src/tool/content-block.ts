import * as z from "zod/mini";

// MCP 2026-07-28 tools §Tool Result. Checked here because clients drop a whole result, or a whole list, for one block
// they do not know: loose objects, so that newer optional fields of a known block pass.

const annotations = z.looseObject({
  audience: z.optional(z.array(z.enum(["user", "assistant"]))),
  priority: z.optional(z.number().check(z.minimum(0), z.maximum(1))),
  lastModified: z.optional(z.iso.datetime({ offset: true })),
});

const common = { annotations: z.optional(annotations), _meta: z.optional(z.looseObject({})) };

const icon = z.looseObject({
  src: z.string(),
  mimeType: z.optional(z.string()),
  sizes: z.optional(z.array(z.string())),
  theme: z.optional(z.enum(["light", "dark"])),
});

const contents = {
  uri: z.string().check(z.minLength(1)),
  mimeType: z.optional(z.string()),
  _meta: z.optional(z.looseObject({})),
};

const contentBlock = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string(), ...common }),
  z.looseObject({ type: z.literal("image"), data: z.base64(), mimeType: z.string(), ...common }),
  z.looseObject({ type: z.literal("audio"), data: z.base64(), mimeType: z.string(), ...common }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: z.string().check(z.minLength(1)),
    name: z.string(),
    title: z.optional(z.string()),
    description: z.optional(z.string()),
    mimeType: z.optional(z.string()),
    size: z.optional(z.int().check(z.minimum(0))),
    icons: z.optional(z.array(icon)),
    ...common,
  }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.union([
      z.looseObject({ ...contents, text: z.string() }),
      z.looseObject({ ...contents, blob: z.base64() }),
    ]),
    ...common,
  }),
]);

/** `CallToolResult` without `resultType`, which is the wire's to add. */
export const toolResult = z.strictObject({
  content: z.array(contentBlock),
  structuredContent: z.optional(z.unknown()),
  isError: z.optional(z.boolean()),
  _meta: z.optional(z.looseObject({})),
});
