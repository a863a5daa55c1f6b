import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LOG_LIMIT } from "../../src/service/task-shelf";
import { LEASE_MS } from "../../src/service/task-host";
import type { TaskContext } from "../../src/tool/context";
import { arrived, letterOf, never, pushing, targetOf, wishFor, type Post } from "../support/pushing";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000_000_000 }));
afterEach(() => void vi.useRealTimers());

const refusing = () => new Response(null, { status: 503 });

describe("push targets", () => {
  it("are told everything that happens, in order, each of it once", async () => {
    const stage = pushing([targetOf("a")]);
    await stage.pass();
    await stage.say();
    await stage.say();
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "3 said", "4 said", "5 cancelled"]);
    expect(stage.target("a")).toMatchObject({ cursor: 5, failures: 0, retryAt: null, dead: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are told of a short task from its creation to its end", async () => {
    const stage = pushing([targetOf("a")], { run: async () => "done" });
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "3 settled"]);
  });

  it("hear of what comes after they were set, also of a task that is settled already: of nothing", async () => {
    const stage = pushing([]);
    await stage.pass();
    await stage.tell({ kind: "push", target: wishFor("a") });
    await stage.say();
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    await stage.tell({ kind: "push", target: wishFor("b") });
    await stage.pass(HOUR);
    expect(stage.posts.map(({ url }) => new URL(url).hostname)).toEqual(["a.example.com", "a.example.com"]);
    expect(stage.bodies()).toEqual(["3 said", "4 cancelled"]);
  });

  it("get the next letter only when the one before has arrived", async () => {
    const open: (() => void)[] = [];
    const stage = pushing([targetOf("a")]);
    stage.answer(() => new Promise((resolve) => open.push(() => resolve(new Response(null)))));
    await stage.pass();
    await stage.say();
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created"]);
    open[0]?.();
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "3 said"]);
    expect(stage.target("a").cursor).toBe(2);
    open[1]?.();
    await stage.pass();
    expect(stage.target("a").cursor).toBe(3);
  });

  it("of an entry with several letters get all of them again when one did not arrive", async () => {
    const both = async (_: unknown, entries: readonly Parameters<typeof letterOf>[0][]) =>
      entries
        .filter(({ event }) => event === "created")
        .flatMap((entry) => ["first", "second"].map((body) => ({ ...letterOf(entry), body })));
    const stage = pushing([targetOf("a")], { letters: both });
    stage.answer(({ body }) => (body === "second" && stage.posts.length === 2 ? refusing() : arrived({} as Post)));
    await stage.pass();
    expect([stage.bodies(), stage.target("a").cursor]).toEqual([["first", "second"], 0]);
    await stage.pass(10_000);
    expect(stage.bodies()).toEqual(["first", "second", "first", "second"]);
    expect(stage.target("a")).toMatchObject({ cursor: 2, failures: 0 });
  });

  it("miss only progress that was overtaken while they were busy", async () => {
    let report = (_: number): void => {};
    const run = (task: TaskContext) =>
      new Promise<string>(() => (report = (progress) => task.progress({ progress, total: 9 })));
    const stage = pushing([targetOf("a")], { run });
    await stage.pass();
    let open = (): void => {};
    stage.answer(() => new Promise((resolve) => (open = () => resolve(new Response(null)))));
    for (let n = 1; n <= 9; n += 1) {
      report(n);
      await stage.pass(1_000);
    }
    expect(stage.bodies()).toEqual(["1 created", "3 progressed"]);
    open();
    await stage.pass();
    open();
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "3 progressed", `${stage.task().version} progressed`]);
    expect(stage.target("a").cursor).toBe(stage.task().version);
  });

  it("whose cursor lies before the oldest entry that is kept are told what is left", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(refusing);
    await stage.pass();
    for (let n = 0; n < LOG_LIMIT + 10; n += 1) await stage.say();
    stage.answer(arrived);
    await stage.pass(10_000);
    expect(stage.posts).toHaveLength(1 + LOG_LIMIT);
    expect(stage.bodies()[1]).toBe("13 said");
    expect(stage.target("a")).toMatchObject({ cursor: stage.task().version, dead: [] });
  });
});

describe("a task without push targets", () => {
  it("asks for no letters, and has no alarm once it has settled", async () => {
    const letters = vi.fn(async () => []);
    const stage = pushing([], { letters, run: async () => "done" });
    const commits = vi.spyOn(stage.shelf, "commit");
    await stage.pass();
    expect(stage.task().stage.phase).toBe("settled");
    expect([letters.mock.calls.length, commits.mock.calls.length, vi.getTimerCount()]).toEqual([0, 2, 0]);
  });
});

describe("a receiver that fails", () => {
  it("is tried eight times at growing distances, then the letter is given up and the next one begins anew", async () => {
    const stage = pushing([targetOf("a")], { random: () => 0.5 });
    stage.answer(refusing);
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    await stage.pass(HOUR);
    const [first, ...others] = stage.posts.slice(0, 8);
    let before = first as Post;
    const pauses = others.map((post) => {
      const pause = post.at - before.at;
      before = post;
      return pause / 1000;
    });
    expect(pauses).toEqual([5, 15, 45, 135, 405, 900, 900]);
    expect(new Set(stage.bodies().slice(0, 8))).toEqual(new Set(["1 created"]));
    expect(stage.bodies()[8]).toBe("3 cancelled");
    const reason = "The receiver answered with status 503.";
    expect(stage.target("a").dead).toEqual([{ seq: 1, at: before.at, reason }]);
    await stage.pass(HOUR);
    expect(stage.posts).toHaveLength(16);
    expect(stage.target("a")).toMatchObject({ cursor: 3, failures: 0, retryAt: null, dead: [{ seq: 1 }, { seq: 3 }] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is told all that it missed once it is back", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(refusing);
    await stage.pass();
    await stage.say();
    await stage.tell({ kind: "cancel" });
    await stage.pass(MINUTE);
    expect(stage.target("a").failures).toBeGreaterThan(2);
    stage.answer(arrived);
    const tried = stage.posts.length;
    await stage.pass(5 * MINUTE);
    expect(stage.bodies().slice(tried)).toEqual(["1 created", "3 said", "4 cancelled"]);
  });

  it("is left alone as long as it asks for", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(() => new Response(null, { status: 429, headers: { "retry-after": "120" } }));
    await stage.pass();
    const { retryAt } = stage.target("a");
    expect(retryAt).toBe((stage.posts[0] as Post).at + 120_000);
    await stage.pass(119_000);
    expect(stage.posts).toHaveLength(1);
    await stage.pass(1_000);
    expect(stage.posts).toHaveLength(2);
  });

  it("is not asked again before its time because something else happens", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(refusing);
    await stage.pass();
    await stage.say();
    await stage.pass(1_000);
    expect(stage.bodies()).toEqual(["1 created"]);
  });

  it("by never answering fails after 15 seconds, and the request is dropped", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(never);
    await stage.pass(15_000);
    expect(stage.target("a")).toMatchObject({ cursor: 0, failures: 1 });
    expect(stage.posts[0]?.signal.aborted).toBe(true);
  });

  it("delays neither the task, nor what it answers, nor its alarms", async () => {
    const stage = pushing([targetOf("a")], {
      run: async (task) => {
        await task.sleep(Date.now() + 5_000);
        return "done";
      },
    });
    stage.answer(never);
    await stage.pass();
    expect(stage.task().stage).toMatchObject({ phase: "working", activity: { kind: "sleeping" } });
    expect(await stage.say()).toMatchObject({ changed: true });
    await stage.host().alarm();
    await stage.pass(5_000);
    expect(stage.task().stage).toMatchObject({ phase: "settled", outcome: { kind: "result" } });
    await stage.host().alarm();
    expect(stage.posts).toHaveLength(1);
  });

  it("holds up no other target", async () => {
    const stage = pushing([targetOf("a"), targetOf("b"), targetOf("c")]);
    stage.answer(({ url }) =>
      url.includes("//a.") ? never({} as Post) : url.includes("//b.") ? refusing() : new Response(),
    );
    await stage.pass();
    await stage.say();
    await stage.tell({ kind: "cancel" });
    await stage.pass();
    expect(stage.bodies("c")).toEqual(["1 created", "3 said", "4 cancelled"]);
    expect([stage.bodies("a"), stage.bodies("b")]).toEqual([["1 created"], ["1 created"]]);
    await stage.pass(10_000);
    expect([stage.bodies("a").length, stage.bodies("b").length]).toEqual([1, 2]);
    expect([stage.target("c").cursor, stage.target("a").cursor]).toEqual([4, 0]);
  });

  it("leaves connections to a running tool however many there are, and none of them is forgotten", async () => {
    const ids = ["a", "b", "c", "d", "e", "f", "g"];
    const stage = pushing(ids.map((id) => targetOf(id)));
    stage.answer(({ url }) => (url.includes("//g.") ? new Response() : never({} as Post)));
    await stage.pass();
    expect(stage.posts).toHaveLength(4);
    await stage.pass(15_000);
    expect(stage.bodies("g")).toEqual(["1 created"]);
    expect(ids.map((id) => stage.target(id).failures)).toEqual([1, 1, 1, 1, 0, 0, 0]);
    await stage.pass(15_000);
    expect(ids.map((id) => stage.bodies(id).length)).not.toContain(0);
  });

  it("is told to the operator by its host alone", async () => {
    const secret = {
      url: "https://a.example.com/hook/s3cret?key=s3cret",
      token: "s3cret",
      authentication: { scheme: "Bearer", credentials: "s3cret" },
    };
    const stage = pushing([targetOf("a", secret)]);
    stage.answer(({ url }) => Promise.reject(new TypeError(`No route to ${url}`)));
    await stage.pass(51 * MINUTE);
    expect(stage.lines.filter((line) => JSON.stringify(line).includes("given up"))).toMatchObject([
      { level: "warning", host: "a.example.com", task: stage.task().id, attempt: 8 },
    ]);
    expect(JSON.stringify(stage.lines)).not.toContain("s3cret");
    expect(stage.target("a").dead).toMatchObject([{ seq: 1, reason: "The receiver could not be reached." }]);
  });
});

describe("an address", () => {
  it.each([
    ["that is local", { url: "https://127.0.0.1/hook" }, "local, private or reserved address"],
    ["inside a network", { url: "https://metadata.google.internal/" }, "local, private or reserved address"],
    ["with an odd port", { url: "https://a.example.com:6379/" }, "port 6379"],
    ["without https", { url: "http://a.example.com/hook" }, "must be https"],
    ["with a password", { url: "https://u:p@a.example.com/" }, "user name or password"],
    ["that is none", { url: "hook" }, "not a valid absolute URL"],
    ["with a line end in its token", { token: "a\r\nX-Admin: 1" }, "no header may have"],
  ])("%s is never called: each letter to it is given up at once", async (_, over, reason) => {
    const stage = pushing([targetOf("a", over), targetOf("b")]);
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    await stage.pass();
    expect(stage.bodies("b")).toEqual(["1 created", "3 cancelled"]);
    expect(stage.posts).toHaveLength(2);
    const said = expect.stringContaining(reason) as string;
    expect(stage.target("a")).toMatchObject({
      cursor: 3,
      dead: [
        { seq: 1, reason: said },
        { seq: 3, reason: said },
      ],
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that redirects counts as failed, and nobody goes where it leads", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(() => Response.redirect("https://b.example.com/", 307));
    await stage.pass(10_000);
    expect(stage.posts.map(({ url }) => url)).toEqual(Array(2).fill("https://a.example.com/hook"));
    expect(stage.target("a")).toMatchObject({ cursor: 0, failures: 2 });
  });
});

describe("a target that is removed", () => {
  it("while it is being told is told no more", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(never);
    await stage.pass();
    await stage.tell({ kind: "unpush", id: "a" });
    expect(stage.posts[0]?.signal.aborted).toBe(true);
    await stage.tell({ kind: "cancel" });
    await stage.pass(HOUR);
    expect([stage.posts.length, stage.task().push, vi.getTimerCount()]).toEqual([1, [], 0]);
  });

  it("in the middle of what it missed is told nothing more of it", async () => {
    let open = (): void => {};
    const stage = pushing([targetOf("a")]);
    stage.answer(refusing);
    await stage.pass();
    await stage.say();
    await stage.say();
    stage.answer(() => new Promise((resolve) => (open = () => resolve(new Response(null)))));
    await stage.pass(7_000);
    expect(stage.bodies()).toEqual(["1 created", "1 created"]);
    await stage.tell({ kind: "unpush", id: "a" });
    open();
    await stage.pass(MINUTE);
    expect(stage.bodies()).toEqual(["1 created", "1 created"]);
  });

  it("and set again is owed nothing of what was on its way", async () => {
    let open = (): void => {};
    const stage = pushing([targetOf("a")]);
    stage.answer(() => new Promise((resolve) => (open = () => resolve(new Response(null, { status: 500 })))));
    await stage.pass();
    await stage.tell({ kind: "unpush", id: "a" });
    await stage.tell({ kind: "push", target: wishFor("a") });
    open();
    await stage.pass();
    expect(stage.target("a")).toMatchObject({ failures: 0, retryAt: null });
    stage.answer(arrived);
    await stage.say();
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "3 said"]);
  });
});

describe("a target that is replaced", () => {
  it.each([
    ["address", { url: "https://b.example.com/" }],
    ["token", { token: "new" }],
    ["credentials", { authentication: { scheme: "Bearer", credentials: "new" } }],
    ["wire", { wire: "test/2.0" }],
  ])("by one with another %s while it is being told: that one is told the same", async (_, over) => {
    let open = (): void => {};
    const stage = pushing([targetOf("a")]);
    stage.answer(() => new Promise((resolve) => (open = () => resolve(new Response(null)))));
    await stage.pass();
    const old = open;
    stage.answer(never);
    await stage.tell({ kind: "push", target: wishFor("a", over) });
    old();
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "1 created"]);
    expect(stage.posts.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(stage.target("a").cursor).toBe(0);
  });

  it("while its letters are being written: that they could not be is not held against the new one", async () => {
    const written: ReturnType<typeof Promise.withResolvers<never>>[] = [];
    const stage = pushing([targetOf("a")], {
      letters: () => {
        written.push(Promise.withResolvers<never>());
        return written.at(-1)?.promise as Promise<never>;
      },
    });
    await stage.pass();
    await stage.tell({ kind: "push", target: wishFor("a", { token: "new" }) });
    written[0]?.reject(new Error("No words."));
    await stage.pass();
    expect([written.length, stage.target("a").failures]).toEqual([2, 0]);
  });

  it("by itself goes on as it was", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(never);
    await stage.pass();
    await stage.tell({ kind: "push", target: wishFor("a") });
    await stage.pass();
    expect(stage.posts.map(({ signal }) => signal.aborted)).toEqual([false]);
  });

  it("while it backs off is told at once", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(refusing);
    await stage.pass(MINUTE);
    const tried = stage.posts.length;
    stage.answer(arrived);
    await stage.tell({ kind: "push", target: wishFor("a", { url: "https://b.example.com/" }) });
    await stage.pass();
    expect(stage.posts.slice(tried).map(({ url }) => url)).toEqual(["https://b.example.com/"]);
  });
});

describe("a process that dies", () => {
  it("between sending and storing that it arrived lets it be sent again, from the alarm that stands", async () => {
    let open = (): void => {};
    const stage = pushing([targetOf("a")]);
    stage.answer(() => new Promise((resolve) => (open = () => resolve(new Response(null)))));
    await stage.pass();
    stage.crash();
    open();
    stage.answer(arrived);
    await stage.pass(LEASE_MS - 1_000);
    expect(stage.bodies()).toEqual(["1 created"]);
    await stage.pass(1_000);
    expect(stage.bodies()).toEqual(["1 created", "1 created"]);
    expect(stage.target("a").cursor).toBe(stage.task().version);
  });

  it("at the end of the task owes the end still", async () => {
    const stage = pushing([targetOf("a")]);
    await stage.pass();
    stage.answer(never);
    await stage.tell({ kind: "cancel" });
    stage.crash();
    stage.answer(arrived);
    await stage.pass(LEASE_MS);
    expect(stage.bodies()).toEqual(["1 created", "3 cancelled", "3 cancelled"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("while a receiver is left alone keeps to the time, and to the number of attempts", async () => {
    const stage = pushing([targetOf("a")], { random: () => 0.5 });
    stage.answer(refusing);
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    for (let n = 0; n < 40; n += 1) {
      stage.crash();
      await stage.pass(MINUTE);
    }
    await stage.pass(MINUTE);
    expect(stage.bodies().filter((body) => body === "1 created")).toHaveLength(8);
    expect(stage.target("a").dead).toMatchObject([{ seq: 1 }]);
  });

  it("and one that cannot store what became of a letter: it is sent again", async () => {
    const stage = pushing([targetOf("a")]);
    await stage.pass();
    const { commit } = stage.shelf;
    vi.spyOn(stage.shelf, "commit").mockImplementation((before, after, ...rest) => {
      if (after.version === before?.version) throw new Error("The disk is full.");
      commit.call(stage.shelf, before, after, ...rest);
    });
    await stage.say();
    await stage.pass();
    vi.restoreAllMocks();
    expect([stage.bodies().length, stage.target("a").cursor]).toEqual([2, 2]);
    expect(stage.lines).toMatchObject([{ level: "error", error: "Error: The disk is full." }]);
    await stage.pass(LEASE_MS);
    expect(stage.bodies()).toEqual(["1 created", "3 said", "3 said"]);
    expect(stage.target("a").cursor).toBe(3);
  });
});

describe("letters that cannot be written", () => {
  it("are given up after as many attempts, and what comes then is told", async () => {
    let isBroken = true;
    const stage = pushing([targetOf("a")], {
      letters: async (_, entries) => {
        if (isBroken) throw new Error("No words.");
        return entries.map((entry) => letterOf(entry));
      },
    });
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    await stage.pass(HOUR);
    isBroken = false;
    await stage.pass(HOUR);
    expect(stage.target("a").dead).toMatchObject([{ seq: 1, reason: "A push notification could not be written." }]);
    expect(stage.bodies()).toEqual(["2 started", "3 cancelled"]);
  });
});

describe("a task that expires", () => {
  const short = { draft: { ttlMs: 2 * MINUTE } };

  it("tells of its end from its alarm", async () => {
    const stage = pushing([targetOf("a")], short);
    await stage.pass(2 * MINUTE);
    expect(stage.bodies()).toEqual(["1 created", "3 expired"]);
    expect(vi.getTimerCount()).toBe(0);
    expect(await stage.host().examine()).toMatchObject({ found: false });
  });

  it("tells of its end from the sweep that finds it, which leaves it that long", async () => {
    const stage = pushing([targetOf("a")], short);
    await stage.pass();
    stage.shelf.setAlarm(null);
    vi.setSystemTime(Date.now() + HOUR);
    expect(await stage.host().examine()).toMatchObject({ found: true, mirror: { phase: "settled" } });
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "3 expired"]);
    expect(await stage.host().examine()).toMatchObject({ found: false });
    expect([stage.shelf.load(), vi.getTimerCount()]).toEqual([null, 0]);
  });

  it("is not kept longer than five minutes by a receiver that does not answer", async () => {
    const stage = pushing([targetOf("a")], short);
    stage.answer(never);
    await stage.pass(6 * MINUTE);
    expect(await stage.host().examine()).toMatchObject({ found: true });
    await stage.pass(MINUTE);
    expect(await stage.host().examine()).toMatchObject({ found: false });
    const tried = stage.posts.length;
    expect(stage.posts.at(-1)?.signal.aborted).toBe(true);
    stage.answer(arrived);
    await stage.pass(HOUR);
    expect([stage.posts.length, stage.shelf.load(), vi.getTimerCount()]).toEqual([tried, null, 0]);
  });
});

describe("the sweep", () => {
  it("that collects a task ends what is on its way, and nothing is stored of it", async () => {
    let open = (): void => {};
    const stage = pushing([targetOf("a")], { draft: { ttlMs: 2 * MINUTE } });
    stage.answer(() => new Promise((resolve) => (open = () => resolve(new Response(null)))));
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    vi.setSystemTime(Date.now() + HOUR);
    expect(await stage.host().examine()).toMatchObject({ found: false });
    expect(stage.posts.map(({ signal }) => signal.aborted)).toEqual([true]);
    open();
    await stage.pass(HOUR);
    expect([stage.posts.length, stage.shelf.load(), vi.getTimerCount()]).toEqual([1, null, 0]);
  });

  it("sets a settled task going whose alarm was lost before all was told", async () => {
    const stage = pushing([targetOf("a")]);
    stage.answer(refusing);
    await stage.pass();
    await stage.tell({ kind: "cancel" });
    stage.crash();
    stage.shelf.setAlarm(null);
    stage.answer(arrived);
    await stage.pass(HOUR);
    expect(stage.bodies()).toEqual(["1 created"]);
    expect(await stage.host().examine()).toMatchObject({ found: true, poked: true });
    await stage.pass();
    expect(stage.bodies()).toEqual(["1 created", "1 created", "3 cancelled"]);
    expect(await stage.host().examine()).toMatchObject({ found: true, poked: false });
  });
});
