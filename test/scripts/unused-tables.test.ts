import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { marked } from "../../scripts/build/unused-tables";

const MODULE = `
const specs = [{ name: "a" }];
var table = Object.freeze(Object.fromEntries(specs.map((spec) => [spec.name, new Map([[spec.name, 1]])])));
var other = new Set(specs);
Object.freeze(specs);
const size = () => {
  var later = new Set(specs);
  return later.size;
};
export const answer = size();
`;

/** What a bundler leaves of a module whose `answer` is used. */
async function bundled(code: string): Promise<string> {
  const bundle = await rolldown({
    input: "module.js",
    plugins: [{ name: "module", resolveId: (id) => id, load: () => code }],
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  return output[0].code;
}

describe("marking what makes the SDK's tables", () => {
  it("lets go of a table that nobody uses, and of all that was made for it", async () => {
    const [before, after] = [await bundled(MODULE), await bundled(marked("module.js", MODULE))];
    expect(before).toContain("Object.fromEntries");
    expect(after).not.toMatch(/fromEntries|new Map/);
  });

  it("keeps what is used, and what a module does besides", async () => {
    const after = await bundled(marked("module.js", MODULE));
    expect(after).toContain("Object.freeze(specs)");
    expect(after).toContain("new Set(specs)");
    expect(after).toMatch(/answer = (\/\* @__PURE__ \*\/ )?size\(\)/);
  });

  it("marks no call that runs later, and moves no line", () => {
    const lines = marked("module.js", MODULE).split("\n");
    expect(lines.length).toBe(MODULE.split("\n").length);
    expect(lines.find((line) => line.includes("var later"))).toBe("  var later = new Set(specs);");
    expect(lines.find((line) => line.includes("var other"))).toBe("var other = /* @__PURE__ */ new Set(specs);");
  });
});
