import type { Plugin } from "rolldown";
import { parseSync, Visitor, type ESTree } from "rolldown/utils";
import { edited, type Edit } from "./edits.ts";

export const OF_THE_SDK = /node_modules\/@a2a-js\/sdk\//;

/** What a converter of the A2A SDK consists of, and nothing else. */
const METHODS = ["fromJSON", "toJSON"];

/**
 * The A2A SDK has a converter for each type of the wire, an object of two functions: a bundler keeps both when one is used. A
 * server reads requests and writes answers, so half of them are never called. Here each becomes two functions of the module,
 * of which the unused one goes: a fifth of the SDK. Lines stay where they are, so that its source map still fits.
 */
export const splitConverters: Plugin = {
  name: "split-converters",
  transform: {
    filter: { id: OF_THE_SDK },
    handler: (code, id) => ({ code: split(id, code), map: null }),
  },
};

type Converter = {
  readonly declaration: ESTree.VariableDeclaration;
  readonly methods: readonly ESTree.ObjectProperty[];
  /** Each call of one of its functions: where it is named, and which. */
  readonly uses: { readonly start: number; readonly end: number; readonly key: string }[];
  /** How often the name stands in the module, whatever it means there. */
  mentions: number;
};

/** The module with its converters split. One whose name is used for anything but a call of its functions stays whole. */
export function split(id: string, code: string): string {
  const { program } = parseSync(id, code);
  const converters = new Map(program.body.flatMap(converterOf));
  new Visitor({
    Identifier(node) {
      const converter = converters.get(node.name);
      if (converter) converter.mentions += 1;
    },
    MemberExpression(node) {
      const { start, end, object, property, computed } = node;
      if (computed || object.type !== "Identifier" || !METHODS.includes(property.name)) return;
      converters.get(object.name)?.uses.push({ start, end, key: property.name });
    },
  }).visit(program);
  const edits = [...converters].flatMap(([name, converter]) => editsOf(name, converter, code));
  return edited(code, edits);
}

function converterOf(statement: ESTree.Statement | ESTree.Directive): readonly [string, Converter][] {
  if (statement.type !== "VariableDeclaration") return [];
  const [declared, ...others] = statement.declarations;
  if (others.length > 0 || declared?.id.type !== "Identifier" || declared.init?.type !== "ObjectExpression") return [];
  const methods = declared.init.properties.filter((property) => property.type === "Property");
  if (methods.length !== declared.init.properties.length || !methods.every(isMethod)) return [];
  return [[declared.id.name, { declaration: statement, methods, uses: [], mentions: 0 }]];
}

const isMethod = ({ method, computed, key, value }: ESTree.ObjectProperty): boolean =>
  method && !computed && key.type === "Identifier" && METHODS.includes(key.name) && isPlain(value);

const isPlain = (value: ESTree.Expression): boolean =>
  value.type === "FunctionExpression" && !value.async && !value.generator;

function editsOf(name: string, { declaration, methods, uses, mentions }: Converter, code: string): readonly Edit[] {
  if (mentions !== uses.length + 1) return [];
  const called = (key: string): string => `${name}$${key}`;
  let from = declaration.start;
  const edits: Edit[] = [];
  for (const { start, end, key } of methods) {
    edits.push({ start: from, end: start, text: linesOf(code.slice(from, start)) });
    edits.push({ start, end: key.end, text: `function ${called(code.slice(key.start, key.end))}` });
    from = end;
  }
  edits.push({ start: from, end: declaration.end, text: linesOf(code.slice(from, declaration.end)) });
  return [...edits, ...uses.map(({ start, end, key }) => ({ start, end, text: called(key) }))];
}

const linesOf = (text: string): string => text.replace(/[^\n]/g, "");
