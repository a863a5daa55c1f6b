import { format } from "@cfworker/json-schema";
import * as z from "zod/mini";
import { among, integer, within } from "./checks";

// MCP 2026-07-28 tools §Tool Result. Checked here because clients drop a whole result, or a whole list, for one block
// they do not know: loose objects, so that newer optional fields of a known block pass.

const annotations = z.looseObject({
  audience: z.optional(z.array(among(["user", "assistant"]))),
  priority: z.optional(z.number().check(within(0, 1))),
  lastModified: z.optional(
    z.string().check(z.refine((text) => format["date-time"]?.(text) === true, "Give an ISO 8601 date and time.")),
  ),
});

const common = { annotations: z.optional(annotations), _meta: z.optional(z.looseObject({})) };

const icon = z.looseObject({
  src: z.string(),
  mimeType: z.optional(z.string()),
  sizes: z.optional(z.array(z.string())),
  theme: z.optional(among(["light", "dark"])),
});

const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.replace(/={1,2}$/, ""));
const base64 = z.string().check(z.refine(isBase64, "Give base64."));

const media = z.looseObject({ data: base64, mimeType: z.string(), ...common });

type BlockType = "text" | "image" | "audio" | "resource_link" | "resource";

/** Each by its `type`. */
export const contentBlocks: Readonly<Record<BlockType, z.ZodMiniType>> = {
  text: z.looseObject({ text: z.string(), ...common }),
  image: media,
  audio: media,
  resource_link: z.looseObject({
    uri: z.string().check(within(1)),
    name: z.string(),
    title: z.optional(z.string()),
    description: z.optional(z.string()),
    mimeType: z.optional(z.string()),
    size: z.optional(integer().check(within(0))),
    icons: z.optional(z.array(icon)),
    ...common,
  }),
  resource: z.looseObject({
    resource: z
      .looseObject({
        uri: z.string().check(within(1)),
        mimeType: z.optional(z.string()),
        text: z.optional(z.string()),
        blob: z.optional(base64),
        _meta: z.optional(z.looseObject({})),
      })
      .check(z.refine(({ text, blob }) => (text ?? blob) !== undefined, "Give `text` or `blob`.")),
    ...common,
  }),
};

/** `CallToolResult` without `resultType`, which is the wire's to add. What is in a block is checked by its type. */
export const toolResult = z.strictObject({
  content: z.array(z.looseObject({ type: among(Object.keys(contentBlocks) as BlockType[]) })),
  structuredContent: z.optional(z.unknown()),
  isError: z.optional(z.boolean()),
  _meta: z.optional(z.looseObject({})),
});
