import { Message, Role, type Part } from "@a2a-js/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TASK_FACTS_URI } from "../../src/a2a/extensions";
import { toParts } from "../../src/a2a/parts";
import type { ContentBlock, ToolResult } from "../../src/tool/define-tool";
import { toolResult } from "../../src/tool/content-block";
import { toCallToolResult } from "../../src/tool/result";
import { toContent } from "./content";

/** As the SDK writes the parts on the wire. */
const wire = (parts: Part[]): unknown =>
  (
    Message.toJSON({
      messageId: "m",
      contextId: "",
      taskId: "",
      role: Role.ROLE_AGENT,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    }) as { parts?: unknown }
  ).parts ?? [];

const ROWS: readonly [name: string, block: ContentBlock, part: object][] = [
  ["text", { type: "text", text: "Grüße\u2028" }, { text: "Grüße\u2028", mediaType: "text/plain" }],
  ["an empty text", { type: "text", text: "" }, { text: "", mediaType: "text/plain" }],
  [
    "text with metadata",
    { type: "text", text: "a", _meta: { "x/y": null } },
    { text: "a", mediaType: "text/plain", metadata: { "x/y": null } },
  ],
  ["an image", { type: "image", data: "AAEC/w==", mimeType: "image/png" }, { raw: "AAEC/w==", mediaType: "image/png" }],
  ["audio", { type: "audio", data: "//79", mimeType: "audio/wav" }, { raw: "//79", mediaType: "audio/wav" }],
  [
    "a link",
    { type: "resource_link", uri: "https://example.com/a.pdf?x=1", name: "the report", mimeType: "application/pdf" },
    { url: "https://example.com/a.pdf?x=1", filename: "the report", mediaType: "application/pdf" },
  ],
  [
    "a link of no type",
    { type: "resource_link", uri: "memo://1", name: "memo" },
    { url: "memo://1", filename: "memo" },
  ],
  [
    "a resource of text",
    { type: "resource", resource: { uri: "file:///notes/today.md", mimeType: "text/markdown", text: "# Today" } },
    {
      text: "# Today",
      filename: "today.md",
      mediaType: "text/markdown",
      metadata: { [TASK_FACTS_URI]: { uri: "file:///notes/today.md" } },
    },
  ],
  [
    "a resource of bytes",
    { type: "resource", resource: { uri: "urn:isbn:0451450523", blob: "AAAA" }, _meta: { a: 1 } },
    {
      raw: "AAAA",
      filename: "urn:isbn:0451450523",
      metadata: { a: 1, [TASK_FACTS_URI]: { uri: "urn:isbn:0451450523" } },
    },
  ],
];

describe("a result as parts", () => {
  it.each(ROWS)("%s", (_name, block, part) => {
    expect(wire(toParts({ content: [block] }))).toEqual([part]);
  });

  it.each(ROWS)("%s, and back", (_name, block) => {
    expect(toContent(toParts({ content: [block] }))).toEqual({ content: [block] });
  });

  it.each([
    ["https://example.com/a/b.txt?from=c/d.txt#e/f", "b.txt"],
    ["https://example.com/a/", "a"],
    ["memo:", "memo:"],
    ["?", "?"],
  ])("names the file of %s %s", (uri, name) => {
    const [part] = toParts({ content: [{ type: "resource", resource: { uri, text: "" } }] });
    expect(part?.filename).toBe(name);
  });

  it("keeps the metadata of a resource beside that of its block", () => {
    const resource = { uri: "memo:1", text: "", _meta: { a: 1, b: 1 } };
    const [one] = toParts({ content: [{ type: "resource", resource, _meta: { b: 2 } }] });
    expect(one?.metadata).toEqual({ a: 1, b: 2, [TASK_FACTS_URI]: { uri: "memo:1" } });
  });

  it("puts structured content last, whatever JSON it is", () => {
    const content = [{ type: "text", text: "three" }];
    for (const value of [{ a: { b: [null] } }, [1, 2], "text", 0, false, null]) {
      expect(wire(toParts({ content, structuredContent: value }))).toEqual([
        { text: "three", mediaType: "text/plain" },
        { data: value, mediaType: "application/json" },
      ]);
    }
  });

  it("does not send a plain value twice", () => {
    const output = { inputSchema: {}, check: (value: unknown) => ({ ok: true, value }) as const };
    for (const value of [{ b: 1, a: "\ud800 é" }, "text", null, [], 1e21]) {
      const returned = toCallToolResult(value, output as never);
      if (!returned.ok) throw new Error(returned.message);
      const stored = JSON.parse(JSON.stringify(returned.value)) as ToolResult;
      expect(stored.content).toHaveLength(1);
      expect(wire(toParts(stored))).toEqual([{ data: value, mediaType: "application/json" }]);
    }
  });

  it("keeps a text that only resembles the structured content", () => {
    const texts = (structuredContent: unknown) =>
      toParts({ content: [{ type: "text", text: '{"a":1}' }], structuredContent }).length;
    expect([texts({ a: 1 }), texts({ a: 2 }), texts('{"a":1}'), texts(undefined)]).toEqual([1, 2, 2, 1]);
  });

  it("sends a block of a kind it does not know whole", () => {
    const block = { type: "hologram", depth: 3 };
    expect(wire(toParts({ content: [block] }))).toEqual([{ data: block, mediaType: "application/json" }]);
  });

  it("holds bytes of the kind that the SDK's converters ask for", () => {
    const [part] = toParts({ content: [{ type: "image", data: "AAEC", mimeType: "image/png" }] });
    const { Buffer } = globalThis as unknown as { Buffer: { isBuffer(value: unknown): boolean } };
    expect(Buffer.isBuffer(part?.content?.value)).toBe(true);
  });
});

const part = (content: Part["content"], over: Partial<Part> = {}): Part => ({
  content,
  metadata: undefined,
  filename: "",
  mediaType: "",
  ...over,
});

describe("parts as content", () => {
  it("takes the last data for the structured content, and other data for text", () => {
    const data = (value: unknown) => part({ $case: "data", value });
    expect(toContent([data([1]), data({ a: 1 }), part({ $case: "text", value: "so" })])).toEqual({
      content: [
        { type: "text", text: "[1]" },
        { type: "text", text: "so" },
      ],
      structuredContent: { a: 1 },
    });
    expect(toContent([data(null)])).toEqual({ content: [], structuredContent: null });
  });

  it("makes a resource of a file, under the name it came with", () => {
    const named = { filename: "a b\ud800.txt", mediaType: "text/plain" };
    expect(toContent([part({ $case: "text", value: "t" }, named)]).content).toEqual([
      { type: "resource", resource: { uri: "attachment:a%20b%EF%BF%BD.txt", mimeType: "text/plain", text: "t" } },
    ]);
  });

  it("gives a link without a name that of its file", () => {
    expect(toContent([part({ $case: "url", value: "https://example.com/x.bin" })]).content).toEqual([
      { type: "resource_link", uri: "https://example.com/x.bin", name: "x.bin" },
    ]);
  });

  it("passes over a part without content", () => {
    expect(toContent([part(undefined)])).toEqual({ content: [] });
  });
});

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const base64 = fc.uint8Array({ maxLength: 20 }).map((bytes) => btoa(String.fromCharCode(...bytes)));
const text = fc.string({ unit: "binary" });
const uri = fc.oneof(fc.webUrl(), fc.string({ minLength: 1 }));
const meta = fc.option(fc.dictionary(fc.string(), json, { minKeys: 1 }), { nil: undefined });
const mimeType = fc.option(fc.constantFrom("text/plain", "image/png", "application/x"), { nil: undefined });
const block = fc
  .oneof(
    fc.record({ type: fc.constant("text"), text, _meta: meta }),
    fc.record({ type: fc.constant("image"), data: base64, mimeType: fc.constant("image/png"), _meta: meta }),
    fc.record({ type: fc.constant("audio"), data: base64, mimeType: fc.constant("audio/ogg"), _meta: meta }),
    fc.record({ type: fc.constant("resource_link"), uri, name: fc.string({ minLength: 1 }), mimeType, _meta: meta }),
    fc.record({ type: fc.constant("resource"), resource: fc.record({ uri, text, mimeType }), _meta: meta }),
    fc.record({ type: fc.constant("resource"), resource: fc.record({ uri, blob: base64, mimeType }), _meta: meta }),
  )
  .map((one) => JSON.parse(JSON.stringify(one)) as ContentBlock);

describe("any result", () => {
  const results = fc.record({ content: fc.array(block), structuredContent: fc.option(json, { nil: undefined }) });

  it("comes back from its parts, but for the text that repeats the data", () => {
    fc.assert(
      fc.property(results, (result) => {
        const repeated = result.structuredContent === undefined ? undefined : JSON.stringify(result.structuredContent);
        const content = result.content.filter(({ type, text: said }) => type !== "text" || said !== repeated);
        const back = toContent(toParts(result));
        expect(back).toEqual({ ...result, content });
        expect(toolResult.safeParse(back).success).toBe(true);
      }),
    );
  });

  it("has the same parts again when it was read from parts", () => {
    fc.assert(
      fc.property(results, (result) => {
        const parts = toParts(result);
        expect(toParts(toContent(parts))).toEqual(parts);
      }),
    );
  });
});
