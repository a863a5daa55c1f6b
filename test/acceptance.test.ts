// Each item of the store contracts, and each of these cases, is some test's name: what was promised can be looked up.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { recordContract } from "../src/kit/contract";

const upTo = (letter: string, last: number, digits = 1): readonly string[] =>
  Array.from({ length: last }, (_, at) => letter + String(at + 1).padStart(digits, "0"));

const ITEMS = [...upTo("A", 15), ...upTo("B", 13), ...upTo("T", 9), ...upTo("D", 15)];
const CASES = [...upTo("W", 5, 2), "B12", "P01", "P02"];

/** Folders whose tests name items of the store contracts in brackets too; elsewhere the same ids are of another list. */
const OF_STORES = [
  "stores",
  "store-api",
  "client",
  "clients",
  "kit",
  "record",
  "durable-objects",
  "service",
  "scripts",
];

type Title = { readonly file: string; readonly text: string };

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts"),
);
const sourceOf = (file: string): string => readFileSync(join(import.meta.dirname, file), "utf8");

const titles: readonly Title[] = files.flatMap((file) => {
  // The first argument of a call, where it is a text.
  const texts = [...sourceOf(file).matchAll(/\(\s*(["`])((?:\\.|(?!\1)[^\\\n])*)\1/g)];
  return texts.map(([, , text = ""]) => ({ file, text }));
});

const idsIn = (text: string): readonly string[] => text.match(/\b[ABDTWP]\d{1,2}\b/g) ?? [];
const atStart = ({ text }: Title): readonly string[] => idsIn(/^[A-Z]\d+\b/.exec(text)?.[0] ?? "");
const inBrackets = ({ text }: Title): readonly string[] =>
  [...text.matchAll(/\(([^()]*)\)/g)].flatMap(([, ids = ""]) => idsIn(ids));
const isOfStores = ({ file }: Title): boolean =>
  OF_STORES.includes(file.split("/")[0] ?? "") || file.startsWith("attack-store.");

it("every item of the store contracts is named by a test", () => {
  const named = new Set([
    ...recordContract.map(({ id }) => id),
    ...titles.flatMap(atStart),
    ...titles.filter(isOfStores).flatMap(inBrackets),
  ]);
  expect({ missing: ITEMS.filter((id) => !named.has(id)) }).toEqual({ missing: [] });
});

it("every case of workers, and of what deploys and proxies do, is named by a test", () => {
  const named = new Set(titles.flatMap(inBrackets));
  expect({ missing: CASES.filter((id) => !named.has(id)) }).toEqual({ missing: [] });
});

it("the contract kit is run over every store, and over every door", () => {
  const sources = files.filter((file) => /^describeRecords\(/m.test(sourceOf(file)));
  expect(sources.sort()).toEqual([
    "client/kit.test.ts",
    "kit/memory.test.ts",
    "store-api/entrypoint.workers.test.ts",
    "stores/d1-records.workers.test.ts",
    "stores/records-durable.workers.test.ts",
  ]);
});
