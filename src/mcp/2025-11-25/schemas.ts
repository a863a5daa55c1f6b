import * as z from "zod";
import { CallToolParams as PlainParams } from "../legacy/schemas";
import { text } from "../schemas";

/** ms from creation; null wishes for no end. */
const ttl = z
  .number("must be a number of ms")
  .min(0, "must not be negative")
  .max(Number.MAX_SAFE_INTEGER, "is too long");

export const CallToolParams = PlainParams.extend({
  task: z.object({ ttl: ttl.nullish() }, "must be an object").optional(),
});

/** `related-task` in `_meta` names nothing here: the param does (tasks §Associating Task-Related Messages). */
export const TaskParams = z.object({ taskId: text });

export type CallToolParams = z.output<typeof CallToolParams>;
