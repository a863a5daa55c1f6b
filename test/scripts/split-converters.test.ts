import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { split } from "../../scripts/build/split-converters";

const MODULE = `
var Task = {
  fromJSON(object) {
    return { id: String(object.id), status: Status.fromJSON(object.status) };
  },
  toJSON(message) {
    return { id: message.id, status: Status.toJSON(message.status) };
  }
};
var Status = {
  fromJSON(object) {
    return object === "DONE" ? 1 : 0;
  },
  toJSON(message) {
    return message === 1 ? "DONE" : "NONE";
  }
};
var answer = Task.toJSON(Task.fromJSON({ id: 7, status: "DONE" }));
`;

const answerOf = (code: string): unknown => runInNewContext(`${code}; answer`);

describe("splitting the converters", () => {
  it("makes two functions of each, which do the same", () => {
    const code = split("module.js", MODULE);
    expect(code).toContain("function Task$fromJSON(object) {");
    expect(code).not.toMatch(/var (Task|Status)\b/);
    expect(answerOf(code)).toEqual(answerOf(MODULE));
  });

  it("leaves each line where it was", () => {
    const line = (code: string, text: string): number => code.split("\n").findIndex((one) => one.includes(text));
    const code = split("module.js", MODULE);
    for (const text of ["String(object.id)", 'message === 1 ? "DONE"', "var answer ="]) {
      expect(line(code, text)).toBe(line(MODULE, text));
    }
  });

  it.each([
    ["is passed on", "var all = { Status };"],
    ["is called by a name that is computed", 'var other = Status["toJSON"](1);'],
    ["means something else elsewhere", "var other = (Status) => Status.toJSON(1);"],
  ])("leaves one whole whose name %s", (_, use) => {
    const code = split("module.js", MODULE + use);
    expect(code).toContain("var Status = {");
    expect(code).toContain("Status.fromJSON(object.status)");
    expect(code).not.toMatch(/var Task\b/);
    expect(answerOf(code)).toEqual(answerOf(MODULE));
  });

  it("leaves an object whole that is more than a converter", () => {
    const more = "var Level = { fromJSON(object) { return object; }, of: 1 }; var level = Level.fromJSON(2);";
    expect(split("module.js", more)).toBe(more);
  });

  it("splits those of the SDK, all of them", () => {
    const path = "node_modules/@a2a-js/sdk/dist/server/index.js";
    const code = readFileSync(path, "utf8");
    const whole = /^var \w+ = \{\n  (from|to)JSON\(/gm;
    expect(code.match(whole)?.length).toBeGreaterThan(30);
    expect(split(path, code)).not.toMatch(whole);
  });
});
