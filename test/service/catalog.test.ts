import { describe, expect, it, vi } from "vitest";
import { createCatalog, type CatalogParts } from "../../src/service/catalog";
import { Channel, closeOnAbort } from "../../src/service/channel";
import { MemoryRemoteTools } from "../../src/service/memory-remote-tools";
import { checkRemoteTool } from "../../src/service/remote-tool-declaration";
import { MAX_REMOTE_TOOL_BYTES, MAX_REMOTE_TOOLS, type RemoteTools } from "../../src/service/tool-catalog";
import { defineTool } from "../../src/tool/define-tool";
import { createRegistry } from "../../src/tool/registry";
import { remote } from "../support/remote";

const greet = defineTool({
  name: "greet",
  description: "Greets.",
  input: { type: "object" },
  task: "forbidden",
  run: () => "Hello!",
});

function setUp(parts: Partial<CatalogParts> = {}) {
  const declared = new MemoryRemoteTools();
  const lines: object[] = [];
  const calls: string[] = [];
  const counted: RemoteTools = {
    put: (tool) => declared.put(tool),
    remove: (name) => declared.remove(name),
    get: (name) => (calls.push(`get ${name}`), declared.get(name)),
    list: () => (calls.push("list"), declared.list()),
    changes: (signal) => declared.changes(signal),
  };
  const catalog = createCatalog({
    registry: createRegistry([greet]),
    configured: [remote({ name: "configured" })],
    declared: counted,
    log: (line) => lines.push(line),
    ...parts,
  });
  const names = async () => (await catalog.list()).map(({ tool: { name } }) => name);
  return { catalog, declared, calls, lines, names };
}

describe("the catalog", () => {
  it("has the code's tools, then those of REMOTE_TOOLS, then the declared ones by name", async () => {
    const { catalog, declared, names } = setUp();
    for (const name of ["b", "a", "C"]) await declared.put(remote({ name }));
    expect(await names()).toEqual(["greet", "configured", "C", "a", "b"]);
    for (const name of await names()) expect((await catalog.find(name))?.tool.name).toBe(name);
    expect(await catalog.find("d")).toBeUndefined();
  });

  it("asks for no tool of the deployment's own, nor for what cannot be declared, and once for a list", async () => {
    const { catalog, calls } = setUp();
    for (const name of ["greet", "configured", "task_list", "", "a b", "é", "x".repeat(129)]) await catalog.find(name);
    expect(calls).toEqual([]);
    await catalog.find("other");
    await catalog.list();
    expect(calls).toEqual(["get other", "list"]);
  });

  it("serves neither what was removed nor what was changed, and compiles what stayed the same once", async () => {
    const { catalog, declared, names } = setUp();
    await declared.put(remote());
    const first = await catalog.find("render");
    expect(await catalog.find("render")).toBe(first);
    expect((await catalog.list()).at(-1)).toBe(first);
    await declared.put(remote({ description: "Renders better." }));
    expect((await catalog.find("render"))?.tool.description).toBe("Renders better.");
    await declared.remove("render");
    expect(await catalog.find("render")).toBeUndefined();
    expect(await names()).toEqual(["greet", "configured"]);
    await declared.put(remote());
    expect((await catalog.find("render"))?.tool.description).toBe("Renders a scene.");
  });

  it("puts its own tools before declared ones of their names", async () => {
    const { catalog, declared, names } = setUp();
    for (const name of ["greet", "configured", "task_result"]) await declared.put(remote({ name, title: "Not this" }));
    expect(await names()).toEqual(["greet", "configured"]);
    expect((await catalog.find("greet"))?.tool.title).toBeUndefined();
    expect(await catalog.find("task_result")).toBeUndefined();
    expect(["greet", "configured", "task_list", "render"].map((name) => catalog.owns(name))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it("leaves out what was declared under other rules, and tells the operator once", async () => {
    const { catalog, declared, names, lines } = setUp();
    await declared.put(remote({ name: "bad", inputSchema: { type: "array" } }));
    await declared.put(remote({ name: "good" }));
    expect(await names()).toEqual(["greet", "configured", "good"]);
    expect(await catalog.find("bad")).toBeUndefined();
    expect(lines).toEqual([
      { level: "error", message: "A declared tool cannot be served.", error: expect.stringContaining('"bad"') },
    ]);
  });

  it.each<[string, object, string]>([
    ["a name of the code", { name: "greet" }, 'Tool "greet": a tool in the code has the same `name`.'],
    [
      "a helper tool's name",
      { name: "task_answer" },
      'Tool "task_answer": this name belongs to a built-in helper tool',
    ],
    ["a faulty schema", { inputSchema: { type: "array" } }, 'Tool "render": the root of `inputSchema` must have'],
  ])("refuses %s in REMOTE_TOOLS, and names tool and variable", (_, facts, message) => {
    const configured = [remote(facts)];
    expect(() => setUp({ configured })).toThrow(
      expect.objectContaining({
        code: "misconfigured",
        message: expect.stringMatching(new RegExp(`^REMOTE_TOOLS: ${message.replace(/[.]/g, "\\.")}`)),
      }),
    );
  });
});

describe("the news of the list", () => {
  it("is of each change that is one, of whoever makes it, until nobody listens", async () => {
    const others = new Channel<number>();
    const { catalog, declared } = setUp({
      otherChanges: (signal) => {
        closeOnAbort(others, signal);
        return others;
      },
    });
    const ending = new AbortController();
    const news = catalog.changes(ending.signal)[Symbol.asyncIterator]();
    expect(await news.next()).toEqual({ done: false, value: "ready" });
    await declared.put(remote());
    expect(await news.next()).toEqual({ done: false, value: "changed" });
    others.push(1);
    expect(await news.next()).toEqual({ done: false, value: "changed" });
    const next = vi.fn();
    const last = news.next().then(next);
    await declared.put(remote());
    await declared.remove("another");
    await Promise.resolve();
    expect(next).not.toHaveBeenCalled();
    await declared.remove("render");
    await last;
    expect(next).toHaveBeenCalledWith({ done: false, value: "changed" });
    ending.abort();
    expect((await news.next()).done).toBe(true);
  });

  it("fails with a source that fails", async () => {
    const { catalog } = setUp({
      otherChanges: async function* () {
        yield 1;
        throw new Error("broken");
      },
    });
    const read = async () => {
      for await (const _ of catalog.changes(new AbortController().signal));
    };
    await expect(read()).rejects.toThrow("broken");
  });
});

describe("declaring a tool over the API", () => {
  const { catalog } = setUp();
  const faultOf = (facts: object): unknown => {
    try {
      checkRemoteTool(remote(facts), (name) => catalog.owns(name));
    } catch (thrown) {
      return thrown;
    }
    return null;
  };

  it("is for good ones", () => {
    expect(faultOf({})).toBeNull();
  });

  it.each<[string, object, string]>([
    ["a name of the code", { name: "greet" }, 'Tool "greet": a tool of the deployment itself has this `name`'],
    ["a name of REMOTE_TOOLS", { name: "configured" }, 'Tool "configured": a tool of the deployment itself'],
    ["a helper tool's name", { name: "task_list" }, 'Tool "task_list": this name belongs to a built-in helper tool'],
    ["a faulty schema", { outputSchema: { $ref: "#/x" } }, 'Tool "render": `outputSchema`: the $ref "#/x"'],
    ["no task at all", { task: "forbidden" }, 'Tool "render": `task` must be "required" or "optional"'],
  ])("is refused with %s", (_, facts, message) => {
    expect(faultOf(facts)).toMatchObject({ code: "invalid", message: expect.stringContaining(message) });
  });

  it("is refused when it is too large, and past the number there may be", async () => {
    const large = remote({ description: "é".repeat(MAX_REMOTE_TOOL_BYTES / 2) });
    expect(faultOf(large)).toMatchObject({ code: "too_large" });
    const declared = new MemoryRemoteTools();
    await expect(declared.put(large)).rejects.toMatchObject({ code: "too_large" });
    for (let n = 0; n < MAX_REMOTE_TOOLS; n += 1) await declared.put(remote({ name: `t${n}` }));
    await expect(declared.put(remote())).rejects.toMatchObject({
      code: "limit_reached",
      data: { limit: "MAX_REMOTE_TOOLS", value: MAX_REMOTE_TOOLS },
    });
    await declared.put(remote({ name: "t0", description: "Another." }));
    await declared.remove("t1");
    await declared.put(remote());
    expect(await declared.list()).toHaveLength(MAX_REMOTE_TOOLS);
  });
});
