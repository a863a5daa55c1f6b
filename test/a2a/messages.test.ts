import { Message, Role, type Part } from "@a2a-js/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageOf, storedMessage } from "../../src/a2a/messages";
import { bytesOf } from "../../src/a2a/parts";

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", "\ud800", "\0", "\u2028\u2029", "__proto__"));
const metadata = fc.option(fc.dictionary(text, json), { nil: undefined });
const content = fc.oneof(
  fc.record({ $case: fc.constant("text" as const), value: text }),
  fc.record({ $case: fc.constant("url" as const), value: text }),
  fc.record({ $case: fc.constant("data" as const), value: json }),
  fc.record({
    $case: fc.constant("raw" as const),
    value: fc.uint8Array().map((bytes) => bytesOf(btoa(String.fromCharCode(...bytes)))),
  }),
);
const part: fc.Arbitrary<Part> = fc.record({ content, metadata, filename: text, mediaType: text });
const message: fc.Arbitrary<Message> = fc.record({
  messageId: text,
  contextId: text,
  taskId: text,
  role: fc.constantFrom(Role.ROLE_USER, Role.ROLE_AGENT),
  parts: fc.array(part),
  metadata,
  extensions: fc.array(text),
  referenceTaskIds: fc.array(text),
});

const bare: Message = {
  messageId: "m1",
  contextId: "",
  taskId: "",
  role: Role.ROLE_USER,
  parts: [],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
};
const withContent = (one: Part["content"]): Message => ({
  ...bare,
  parts: [{ content: one, metadata: undefined, filename: "", mediaType: "" }],
});

describe("a stored message", () => {
  it("comes back without loss, whatever is in it", () => {
    fc.assert(
      fc.property(message, (one) => {
        const stored = storedMessage(one);
        expect(messageOf(stored)).toEqual(one);
        // The same text for the same message: digests are made of it.
        expect(storedMessage(messageOf(stored))).toBe(stored);
      }),
    );
  });

  it("is what A2A 1.0 writes: the SDK reads it, and writes the same", () => {
    const filled = fc.record({
      messageId: fc.string({ minLength: 1 }),
      parts: fc.array(part, { minLength: 1 }),
    });
    fc.assert(
      fc.property(message, filled, (one, over) => {
        const sent = { ...one, ...over };
        expect(JSON.parse(storedMessage(sent))).toEqual(JSON.parse(JSON.stringify(Message.toJSON(sent))));
      }),
    );
  });

  it("leaves out what is empty, and only that", () => {
    expect(JSON.parse(storedMessage(bare))).toEqual({ messageId: "m1", role: "ROLE_USER", parts: [] });
    const empty = withContent({ $case: "text", value: "" });
    expect(JSON.parse(storedMessage(empty))).toEqual({ messageId: "m1", role: "ROLE_USER", parts: [{ text: "" }] });
    expect(messageOf(storedMessage({ ...bare, metadata: {} })).metadata).toEqual({});
  });

  it("keeps data that are null, which the SDK's own reader loses", () => {
    const sent = Message.fromJSON({ messageId: "m1", role: "ROLE_USER", parts: [{ data: null }] });
    expect(sent.parts[0]?.content).toBeUndefined();
    expect(messageOf(storedMessage(sent))).toEqual(withContent({ $case: "data", value: null }));
  });

  it("keeps a key named __proto__", () => {
    const data = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as unknown;
    const stored = storedMessage({ ...withContent({ $case: "data", value: data }), metadata: data as object });
    const back = messageOf(stored);
    expect(JSON.stringify(back.parts[0]?.content?.value)).toBe(JSON.stringify(data));
    expect(JSON.stringify(back.metadata)).toBe(JSON.stringify(data));
  });
});
