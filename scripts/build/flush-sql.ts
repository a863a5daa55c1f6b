import type { Plugin } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { edited, type Edit } from "./edits.ts";

/** SQL is indented for its readers; here the lines begin at the left. Lines stay where they are, so that the source map fits. */
export const flushSql: Plugin = {
  name: "flush-sql",
  transform: {
    filter: { id: /-sql\.ts$/ },
    handler: (code, id) => ({ code: flushed(id, code), map: null }),
  },
};

export function flushed(id: string, code: string): string {
  const edits: Edit[] = [];
  new Visitor({
    TemplateElement({ start, end }) {
      edits.push({ start, end, text: code.slice(start, end).replace(/\n +/g, "\n") });
    },
  }).visit(parseSync(id, code).program);
  return edited(code, edits);
}
