import * as z from "zod/v4/core";

/**
 * Lets a schema of `zod/mini` write its JSON Schema, as one of `zod` can by itself: wrap the whole of a tool's `input` or
 * `output`. In a file of its own, for it brings zod's writer into the Worker (6 KiB, gzipped).
 */
export function withJsonSchema<S extends z.$ZodType>(schema: S): S {
  const written = (io: "input" | "output") => () => z.toJSONSchema(schema, { target: "draft-2020-12", io });
  Object.assign(schema["~standard"], { jsonSchema: { input: written("input"), output: written("output") } });
  return schema;
}
