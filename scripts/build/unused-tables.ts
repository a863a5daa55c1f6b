import type { Plugin } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { edited, type Edit } from "./edits.ts";
import { OF_THE_SDK } from "./split-converters.ts";

/**
 * The A2A SDK makes tables and classes of errors for every transport as its modules begin, each by calls, which a bundler keeps
 * for what they may do besides. They do nothing besides, so each is marked as such, and what nobody uses goes.
 */
export const unusedTables: Plugin = {
  name: "unused-tables",
  transform: {
    filter: { id: OF_THE_SDK },
    handler: (code, id) => ({ code: marked(id, code), map: null }),
  },
};

/** The module with the calls marked that give its own variables their values; what runs later is left as it is. */
export function marked(id: string, code: string): string {
  const { program } = parseSync(id, code);
  const edits: Edit[] = [];
  let isVariable = false;
  let functions = 0;
  const enter = (): void => void (functions += 1);
  const leave = (): void => void (functions -= 1);
  const mark = ({ start }: { readonly start: number }): void => {
    if (isVariable && functions === 0) edits.push({ start, end: start, text: "/* @__PURE__ */ " });
  };
  const visitor = new Visitor({
    CallExpression: mark,
    NewExpression: mark,
    FunctionExpression: enter,
    "FunctionExpression:exit": leave,
    ArrowFunctionExpression: enter,
    "ArrowFunctionExpression:exit": leave,
  });
  for (const statement of program.body) {
    isVariable = statement.type === "VariableDeclaration";
    visitor.visit({ ...program, body: [statement] });
  }
  return edited(code, edits);
}
