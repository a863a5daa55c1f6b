import type { Message, Part } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { answersIn } from "../../src/a2a/answers";
import { dataPart, textPart } from "../../src/a2a/parts";
import type { OpenQuestion } from "../../src/service/task-store";
import type { JsonObject } from "../../src/task/json";

const message = (...parts: Part[]): Message => ({
  messageId: "m",
  contextId: "",
  taskId: "t",
  role: 1,
  parts,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

const form = (properties: JsonObject, key = "k"): OpenQuestion => ({
  key,
  request: {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: "?",
      requestedSchema: { type: "object", properties, required: Object.keys(properties) },
    },
  },
});
const login: OpenQuestion = {
  key: "k",
  request: { method: "elicitation/create", params: { mode: "url", message: "?", url: "https://example.com" } },
};

/** What is answered by key; or the sentence that says what would be an answer. */
function read(open: readonly OpenQuestion[], ...parts: Part[]): unknown {
  const answers = answersIn(message(...parts), open);
  if (!answers.ok) return answers.message;
  return Object.fromEntries(Object.entries(answers.value).map(([key, text]) => [key, JSON.parse(text) as unknown]));
}
const accepted = (content: object) => ({ k: { action: "accept", content } });

describe("one open question", () => {
  it.each([
    [{ type: "string" }, "blue", "blue"],
    [{ type: "string" }, "", ""],
    [{ type: "integer" }, " 7 ", 7],
    [{ type: "number" }, "2.5", 2.5],
    [{ type: "boolean" }, "Yes", true],
    [{ type: "boolean" }, "no.", false],
    [{ type: "string", enum: ["Red", "Blue"] }, "blue", "Blue"],
  ])("of %j is answered by the words %j", (schema, text, value) => {
    expect(read([form({ v: schema })], textPart(text))).toEqual(accepted({ v: value }));
  });

  it.each([
    [{ type: "integer" }, "seven"],
    [{ type: "integer" }, "2.5"],
    [{ type: "number" }, ""],
    [{ type: "boolean" }, "maybe"],
    [{ type: "string", enum: ["Red", "Blue"] }, "green"],
    [{ type: "array", items: { type: "string" } }, "a"],
  ])("of %j is not answered by %j, and the task says what would", (schema, text) => {
    expect(read([form({ v: schema })], textPart(text))).toContain('"inputResponses": { "k"');
  });

  it("of several fields is answered by data, not by words", () => {
    const question = form({ a: { type: "string" }, b: { type: "boolean" } });
    expect(read([question], textPart("x"))).toContain("inputResponses");
    expect(read([question], dataPart({ a: "x", b: true }))).toEqual(accepted({ a: "x", b: true }));
    expect(read([question], dataPart({ a: "x", b: "true" }))).toContain("cannot be used");
  });

  it("of one field that must be there is answered by words, which leave out the others", () => {
    const properties = { decision: { type: "string", enum: ["approve", "decline"] }, reason: { type: "string" } };
    const requestedSchema = { type: "object", properties, required: ["decision"] };
    const params = { mode: "form", message: "?", requestedSchema };
    const question: OpenQuestion = { key: "k", request: { method: "elicitation/create", params } };
    expect(read([question], textPart("Approve"))).toEqual(accepted({ decision: "approve" }));
    expect(read([question], textPart("maybe"))).toContain("cannot be used");
  });

  it("can be declined, and a form without fields only be agreed to", () => {
    expect(read([form({ v: { type: "string" } })], dataPart({ action: "decline" }))).toEqual({
      k: { action: "decline" },
    });
    expect(read([form({})], textPart("go on"))).toEqual(accepted({}));
  });

  it("that leads to a URL is done, unless the client says no", () => {
    expect(read([login], textPart("I am in"))).toEqual({ k: { action: "accept" } });
    for (const no of ["No", "decline", "Cancel."]) {
      expect(read([login], textPart(no))).toEqual({ k: { action: "decline" } });
    }
  });

  it("of a model is answered by words; for roots it takes data", () => {
    const sampling: OpenQuestion = { key: "k", request: { method: "sampling/createMessage", params: {} } };
    expect(read([sampling], textPart("Hello"))).toMatchObject({ k: { role: "assistant", content: { text: "Hello" } } });
    const roots: OpenQuestion = { key: "k", request: { method: "roots/list", params: {} } };
    expect(read([roots], textPart("/"))).toContain("inputResponses");
    expect(read([roots], dataPart({ roots: [] }))).toEqual({ k: { roots: [] } });
  });
});

describe("several open questions", () => {
  const open = [form({ v: { type: "string" } }, "a"), form({ v: { type: "string" } }, "b")];
  const answer = (v: unknown) => ({ action: "accept", content: { v } });

  it("are answered by key, some or all of them; keys that are not open are nothing", () => {
    const responses = { b: answer("x"), gone: answer("y") };
    expect(read(open, dataPart({ inputResponses: responses }))).toEqual({ b: answer("x") });
    expect(read(open, dataPart({ inputResponses: { gone: answer("y") } }))).toContain("None of the keys is open");
  });

  it("are not answered by words, nor by an answer that does not fit: the question stays as it is", () => {
    expect(read(open, textPart("x"))).toContain("2 questions are open");
    expect(read(open, dataPart({ inputResponses: { a: answer(1) } }))).toContain('The response to "a" cannot be used');
  });
});
