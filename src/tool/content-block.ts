import * as z from "zod";

// MCP 2026-07-28 tools §Tool Result. Checked here because clients drop a whole result, or a whole list, for one block
// they do not know: loose objects, so that newer optional fields of a known block pass.

const annotations = z.looseObject({
  audience: z.array(z.enum(["user", "assistant"])).optional(),
  priority: z.number().min(0).max(1).optional(),
  lastModified: z.iso.datetime({ offset: true }).optional(),
});

const common = { annotations: annotations.optional(), _meta: z.looseObject({}).optional() };

const icon = z.looseObject({
  src: z.string(),
  mimeType: z.string().optional(),
  sizes: z.array(z.string()).optional(),
  theme: z.enum(["light", "dark"]).optional(),
});

const contents = { uri: z.string().min(1), mimeType: z.string().optional(), _meta: z.looseObject({}).optional() };

const contentBlock = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string(), ...common }),
  z.looseObject({ type: z.literal("image"), data: z.base64(), mimeType: z.string(), ...common }),
  z.looseObject({ type: z.literal("audio"), data: z.base64(), mimeType: z.string(), ...common }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: z.string().min(1),
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    mimeType: z.string().optional(),
    size: z.int().min(0).optional(),
    icons: z.array(icon).optional(),
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
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.looseObject({}).optional(),
});
