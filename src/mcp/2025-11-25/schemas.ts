import * as z from "zod/mini";
import { callFields } from "../legacy/schemas";
import { text } from "../schemas";
import { within } from "../../tool/checks";

/** ms from creation; null wishes for no end. */
const ttl = z
  .number("must be a number of ms")
  .check(within(0, Infinity, "must not be negative"), within(0, Number.MAX_SAFE_INTEGER, "is too long"));

export const CallToolParams = z.object({
  ...callFields,
  task: z.optional(z.object({ ttl: z.nullish(ttl) }, "must be an object")),
});

/** `related-task` in `_meta` names nothing here: the param does (tasks §Associating Task-Related Messages). */
export const TaskParams = z.object({ taskId: text });

export type CallToolParams = z.output<typeof CallToolParams>;
