import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/service/limits";
import type { SweepReport, TaskFeedMessage, TaskListRow, TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { Owner, Phase } from "../../src/task/task";
import { describeConversation } from "./conversation-contract";
import { describeSearch } from "./search-contract";
import { HOUR, MINUTE, setUpStore, taskOf, until } from "./set-up";
import type { StoreParts } from "./stage";
import { accept } from "./tools";
import { describeWork } from "./work-contract";

/** What every task store does, whatever it stands on. `makeStore` gives an empty one. */
export function describeTaskStore(
  name: string,
  makeStore: (parts: StoreParts) => TaskStore | Promise<TaskStore>,
): void {
  describe(name, () => {
    describe("create", () => {
      it("has stored the task when it answers (MCP tasks extension §Task Creation)", async () => {
        const { store, create } = await setUp();
        const missing: string[] = [];
        await Promise.all(
          Array.from({ length: 100 }, async () => {
            const { id } = await create("hang");
            if (!(await store.read({ id, owner: "o" }))) missing.push(id);
          }),
        );
        expect(missing).toEqual([]);
      });

      it("stores exactly as many tasks as the cap under parallel creates", async () => {
        const { store, draft, rows } = await setUp({ maxTasksPerOwner: 100 });
        const made = await Promise.all(Array.from({ length: 200 }, () => store.create(draft("echo"))));
        expect(made.filter(({ kind }) => kind === "created")).toHaveLength(100);
        const refused = made.filter(({ kind }) => kind !== "created");
        expect(refused).toEqual(Array(100).fill({ kind: "limit", limit: "MAX_TASKS_PER_OWNER", value: 100 }));
        expect(await rows()).toHaveLength(100);
      });

      it("never has more live tasks than their cap, and takes new ones when some have settled", async () => {
        const { store, draft, until } = await setUp({ maxLiveTasksPerOwner: 5 });
        const made = await Promise.all(Array.from({ length: 10 }, () => store.create(draft("hang"))));
        expect(made.filter(({ kind }) => kind === "limit")).toEqual(
          Array(5).fill({ kind: "limit", limit: "MAX_LIVE_TASKS_PER_OWNER", value: 5 }),
        );
        const first = taskOf(made.find(({ kind }) => kind === "created"));
        await store.tell({ id: first.id, owner: "o" }, { kind: "cancel" });
        await until(async () => (await store.create(draft("hang"))).kind === "created");
      });

      it("counts each owner and each namespace for itself", async () => {
        const { store, draft } = await setUp({ maxTasksPerOwner: 1 });
        expect((await store.create(draft("echo"))).kind).toBe("created");
        expect((await store.create(draft("echo"))).kind).toBe("limit");
        expect((await store.create(draft("echo", { owner: "other" }))).kind).toBe("created");
        expect((await store.create(draft("echo", { namespace: "elsewhere" }))).kind).toBe("created");
      });

      it("gives back what is stored when the same task is created again", async () => {
        const { store, draft, rows } = await setUp();
        const once = draft("hang", { contextId: "first" });
        await store.create(once);
        const again = taskOf(await store.create({ ...once, contextId: "second" }));
        expect(again).toMatchObject({ id: once.id, contextId: "first" });
        expect(await rows()).toHaveLength(1);
      });

      it.each([
        ["not swept", false],
        ["swept", true],
      ])("makes a new task when the one with that id has expired and was %s", async (_, swept) => {
        const { store, draft, rows, advance, clock } = await setUp();
        const once = draft("hang", { ttlMs: MINUTE });
        await store.create(once);
        advance(HOUR);
        if (swept) await store.sweep(1_000);
        const again = { ...once, contextId: "second", createdAt: clock() };
        const oneAfterTheOther = Array.from({ length: 20 }, async (_, steps) => {
          for (let n = 0; n < steps; n += 1) await Promise.resolve();
          return store.create(again);
        });
        const made = await Promise.all(oneAfterTheOther);
        expect(made.filter(({ kind }) => kind === "created")).toHaveLength(1);
        expect(made.filter(({ kind }) => kind === "existing")).toHaveLength(19);
        expect(await store.read({ id: once.id, owner: "o" })).toMatchObject({ contextId: "second" });
        expect(await rows()).toHaveLength(1);
      });
    });

    describe("ids", () => {
      it("are 43 URL-safe characters, never begin like an option, and are never given twice", async () => {
        const { store } = await setUp();
        const ids = Array.from({ length: 500 }, () => store.mint());
        expect(ids.filter((id) => !/^[A-Za-z0-9_][A-Za-z0-9_-]{42}$/.test(id))).toEqual([]);
        expect(new Set(ids).size).toBe(500);
        expect(ids.every((id) => store.recognises(id))).toBe(true);
      });

      it("are not recognised in any other spelling", async () => {
        const { store } = await setUp();
        const id = store.mint();
        const others = [
          "",
          "x",
          id.slice(1),
          `${id}=`,
          `${id}A`,
          ` ${id}`,
          `-${id.slice(1)}`,
          nonCanonical(id),
          "💥".repeat(43),
          "A".repeat(100_000),
        ];
        expect(others.filter((other) => store.recognises(other))).toEqual([]);
      });

      it("of no task are answered with null everywhere, and looking leaves nothing behind", async () => {
        const { store, draft, rows } = await setUp();
        for (const id of [store.mint(), nonCanonical(store.mint()), "nonsense"]) {
          const ref = { id, owner: "o" };
          expect(await store.read(ref)).toBeNull();
          expect(await store.tell(ref, { kind: "cancel" })).toBeNull();
          expect(await store.watch(ref, { signal: new AbortController().signal })).toBeNull();
        }
        const id = store.mint();
        await store.read({ id, owner: "o" });
        expect(await rows()).toEqual([]);
        expect(await store.create(draft("hang", { id }))).toMatchObject({ kind: "created", task: { id } });
      });
    });

    describe("owners", () => {
      it.each<[Owner, Owner]>([
        ["o", "someone else"],
        ["o", null],
        [null, "o"],
        ["o", "O"],
        ["o", ""],
      ])("a task of %j does not exist for %j", async (owner, stranger) => {
        const { store, draft } = await setUp();
        const { id } = taskOf(await store.create(draft("hang", { owner })));
        const foreign = { id, owner: stranger };
        expect(await store.read(foreign)).toBeNull();
        expect(await store.tell(foreign, { kind: "cancel" })).toBeNull();
        expect(await store.watch(foreign, { signal: new AbortController().signal })).toBeNull();
        expect(await store.read({ id, owner })).toMatchObject({ id, owner });
        expect((await store.read({ id, owner }))?.stage.phase).not.toBe("settled");
      });

      it("may have any text in their name", async () => {
        const { store, draft } = await setUp();
        const owner = 'Zoë "☃"\n💥\u2028\u0000';
        const { id } = taskOf(await store.create(draft("echo", { owner })));
        expect(await store.read({ id, owner })).toMatchObject({ owner });
        expect(await take(await store.watch({ id, owner }, { signal: new AbortController().signal }), 1)).toMatchObject(
          [{ kind: "snapshot", task: { owner } }],
        );
        expect((await store.list({ namespace: "n", owner, limit: 10 })).rows.map((row) => row.id)).toEqual([id]);
      });
    });

    describe("idempotency keys", () => {
      const key = { key: "k", digest: "d" };

      it("name the same task for the same body, and refuse another", async () => {
        const { store, draft } = await setUp();
        const first = await store.create(draft("hang"), key);
        expect(first.kind).toBe("created");
        expect(await store.create(draft("hang"), key)).toMatchObject({
          kind: "existing",
          task: { id: taskOf(first).id },
        });
        expect(await store.create(draft("hang"), { key: "k", digest: "other" })).toEqual({ kind: "conflict" });
      });

      it("make one task of any number of parallel creates", async () => {
        const { store, draft, rows } = await setUp();
        const made = await Promise.all(Array.from({ length: 20 }, () => store.create(draft("hang"), key)));
        expect(new Set(made.map((one) => taskOf(one).id)).size).toBe(1);
        expect(made.filter(({ kind }) => kind === "created")).toHaveLength(1);
        expect(await rows()).toHaveLength(1);
      });

      it("belong to an owner and a tool", async () => {
        const { store, draft } = await setUp();
        const made = [
          await store.create(draft("hang"), key),
          await store.create(draft("echo"), { key: "k", digest: "other" }),
          await store.create(draft("hang", { owner: "other" }), { key: "k", digest: "other" }),
        ];
        expect(made.map(({ kind }) => kind)).toEqual(["created", "created", "created"]);
      });

      it("bind no anonymous callers to each other", async () => {
        const { store, draft } = await setUp();
        const made = await Promise.all(
          Array.from({ length: 20 }, () => store.create(draft("hang", { owner: null }), key)),
        );
        expect(new Set(made.map((one) => taskOf(one).id)).size).toBe(20);
      });

      it("are free again when their task has expired, swept or not", async () => {
        const { store, draft, advance, rows, until } = await setUp();
        const first = taskOf(await store.create(draft("hang", { ttlMs: MINUTE }), key));
        await until(async () => (await rows())[0]?.phase === "working");
        advance(MINUTE);
        const second = await store.create(draft("hang", { ttlMs: MINUTE }), { key: "k", digest: "other" });
        expect(second.kind).toBe("created");
        expect(taskOf(second).id).not.toBe(first.id);
        advance(HOUR);
        await store.sweep(1_000);
        expect((await store.create(draft("hang"), key)).kind).toBe("created");
      });
    });

    describe("lenient scoping", () => {
      it("opens what belongs to nobody to everybody, and nothing else to anybody", async () => {
        const { store, draft } = await setUp({ scoping: "lenient" });
        const mine = taskOf(await store.create(draft("hang", { owner: "o" })));
        const nobodys = taskOf(await store.create(draft("hang", { owner: null })));
        const seen = (id: string, owner: string | null) => store.read({ id, owner }).then((task) => task !== null);
        expect([await seen(nobodys.id, "o"), await seen(nobodys.id, "p"), await seen(nobodys.id, null)]).toEqual([
          true,
          true,
          true,
        ]);
        expect([await seen(mine.id, "o"), await seen(mine.id, "p"), await seen(mine.id, null)]).toEqual([
          true,
          false,
          true,
        ]);
      });
    });

    describe("rates", () => {
      it("refuses what one owner creates beyond CREATES_PER_MINUTE, until the next minute, and nobody else's", async () => {
        const { store, draft, advance, clock } = await setUp({ createsPerMinute: 20 });
        advance(60_000 - (clock() % 60_000));
        const create = (owner: string) => store.create(draft("echo", { owner }));
        const made = await Promise.all(Array.from({ length: 30 }, () => create("o")));
        expect(made.filter(({ kind }) => kind === "created")).toHaveLength(20);
        expect(made.find(({ kind }) => kind === "rate")).toMatchObject({ value: 20 });
        expect((await create("another")).kind).toBe("created");
        advance(60_000);
        expect((await create("o")).kind).toBe("created");
      });

      it("counts anonymous callers by address", async () => {
        const { store, advance, clock } = await setUp({ createsPerMinute: 2 });
        advance(60_000 - (clock() % 60_000));
        const admitted = [await store.admit("1.2.3.4"), await store.admit("1.2.3.4"), await store.admit("1.2.3.4")];
        expect(admitted.map((wait) => wait === null)).toEqual([true, true, false]);
        expect(await store.admit("5.6.7.8")).toBeNull();
      });

      it("gives an anonymous address so many places for streams, and each back when its stream ends", async (context) => {
        const { store, until } = await setUp({ maxStreamsPerOwner: 2 });
        // One object for trials on one's own machine needs no such bound.
        if (name === "the memory store in its object") return context.skip();
        const streams = [new AbortController(), new AbortController()];
        for (const stream of streams) await store.occupy("1.2.3.4", stream.signal);
        const refused = (address: string) =>
          store.occupy(address, AbortSignal.timeout(50)).then(
            () => null,
            (error: { code: string }) => error.code,
          );
        expect([await refused("1.2.3.4"), await refused("5.6.7.8")]).toEqual(["limit_reached", null]);
        streams[0]?.abort();
        await until(async () => (await refused("1.2.3.4")) === null);
        streams[1]?.abort();
      });

      it("refuses polls far beyond the advertised rate once the free ones are used up, and changes nothing", async () => {
        const { store, create } = await setUp({ pollBurst: 10 });
        const { id } = await create("hang", { pollIntervalMs: 60_000 });
        const polls = [];
        for (let n = 0; n < 12; n += 1) polls.push(await store.poll({ id, owner: "o" }));
        expect(polls.slice(0, 10).every((polled) => polled?.kind === "task")).toBe(true);
        expect(polls[11]).toMatchObject({ kind: "limited" });
        expect(await store.poll({ id, owner: "somebody else" })).toBeNull();
        expect(await store.read({ id, owner: "o" })).toMatchObject({ id });
      });
    });

    describe("values", () => {
      // More than one row of any store, and all that a careless encoding loses.
      const piece = '😀\u2028\u2029\u0000\r\n\r\n"\\ü\ufeff\ud800x\udc00';
      const text = "\ufeff" + piece.repeat(Math.ceil(1_500_000 / piece.length));

      it("of megabytes come back byte for byte: arguments, steps, results", async () => {
        const { create, settled, resultText } = await setUp();
        const { id } = await create("steps", { arguments: JSON.stringify({ texts: [text, "short", text] }) });
        const result = resultText(await settled(id));
        expect(result === `${text}|short|${text}`).toBe(true);
      });

      it("of megabytes come back byte for byte: what was prepared", async () => {
        const { create, settled, resultText } = await setUp();
        const { id } = await create("prepared", { prepared: JSON.stringify(text) });
        expect(resultText(await settled(id)) === text).toBe(true);
      });

      it("of megabytes come back byte for byte: answers", async () => {
        const { store, create, waiting, settled, resultText } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept(text) } });
        expect(resultText(await settled(id)) === accept(text)).toBe(true);
      });
    });

    describe("tell", () => {
      it("answers an open question once; other keys and later answers change nothing", async () => {
        const { store, create, waiting, settled, resultText } = await setUp();
        const { id } = await create("ask");
        expect((await waiting(id)).openQuestions).toMatchObject([
          { key: "name", request: { method: "elicitation/create" } },
        ]);
        const ref = { id, owner: "o" };
        const other = await store.tell(ref, {
          kind: "answer",
          answers: { nobody: accept("x"), toString: accept("x") },
        });
        expect(other).toMatchObject({ changed: false, task: { stage: { phase: "input_required" } } });
        const told = await store.tell(ref, { kind: "answer", answers: { name: accept("Ada") } });
        expect(told).toMatchObject({ changed: true, task: { id, openQuestions: [] } });
        const again = await store.tell(ref, { kind: "answer", answers: { name: accept("Eve") } });
        expect(again).toMatchObject({ changed: false });
        expect(resultText(await settled(id))).toBe(accept("Ada"));
      });

      it("asks an unusable answer's question again under a new key", async () => {
        const { store, create, waiting } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        const told = await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept(7) } });
        expect(told?.task.openQuestions.map(({ key }) => key)).toEqual(["name-2"]);
      });

      it("cancels at once; what comes later changes nothing", async () => {
        const { store, create, waiting } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        const ref = { id, owner: "o" };
        expect(await store.tell(ref, { kind: "cancel" })).toMatchObject({
          changed: true,
          task: { stage: { phase: "settled", outcome: { kind: "cancelled" } } },
        });
        const cancelled = await store.read(ref);
        expect(await store.tell(ref, { kind: "cancel" })).toEqual({ changed: false, task: cancelled });
        expect(await store.tell(ref, { kind: "answer", answers: { name: accept("late") } })).toEqual({
          changed: false,
          task: cancelled,
        });
        expect(await store.read(ref)).toEqual(cancelled);
      });

      it("does not touch a task that has settled by itself", async () => {
        const { store, create, settled } = await setUp();
        const done = await settled((await create("echo", { arguments: '{"text":"done"}' })).id);
        expect(await store.tell({ id: done.id, owner: "o" }, { kind: "cancel" })).toEqual({
          changed: false,
          task: done,
        });
      });
    });

    describe("list", () => {
      it("is newest first, by time and then by id, and says what each task came to", async () => {
        const { store, create, settled, waiting, rows, until } = await setUp();
        const made = await Promise.all([
          create("hang", { createdAt: 3_000, ttlMs: null, contextId: "c", origin: "elsewhere" }),
          create("echo", { createdAt: 2_000, ttlMs: null }),
          create("refuse", { createdAt: 1_000, ttlMs: null }),
          create("ask", { createdAt: 1_000, ttlMs: null }),
          create("hang", { createdAt: 4_000, ttlMs: null }),
        ]);
        const [hang, echo, refuse, ask, cancelled] = made.map(({ id }) => id) as [
          string,
          string,
          string,
          string,
          string,
        ];
        await Promise.all([
          settled(echo),
          settled(refuse),
          waiting(ask),
          store.tell({ id: cancelled, owner: "o" }, { kind: "cancel" }),
        ]);
        await until(
          async () =>
            (await rows()).filter(({ phase }) => phase === "settled" || phase === "input_required").length === 4,
        );
        await until(async () => (await rows()).some(({ phase }) => phase === "working"));
        const facts = (row: TaskListRow) => [
          row.id,
          row.createdAt,
          row.tool,
          row.contextId,
          row.origin,
          row.phase,
          row.outcome,
        ];
        const last = [
          [refuse, 1_000, "refuse", null, "test", "settled", "result"],
          [ask, 1_000, "ask", null, "test", "input_required", null],
        ].sort(([a], [b]) => (String(a) < String(b) ? 1 : -1));
        expect((await rows()).map(facts)).toEqual([
          [cancelled, 4_000, "hang", null, "test", "settled", "cancelled"],
          [hang, 3_000, "hang", "c", "elsewhere", "working", null],
          [echo, 2_000, "echo", null, "test", "settled", "result"],
          ...last,
        ]);
      });

      it("has a task from the moment it is created", async () => {
        const { create, rows } = await setUp();
        const { id } = await create("hang");
        expect((await rows()).map((row) => row.id)).toEqual([id]);
      });

      it("is read in pages that miss and repeat nothing, though rows go and come meanwhile", async () => {
        const { store, create, advance, clock } = await setUp();
        const start = clock();
        const made: TaskSnapshot[] = [];
        for (let n = 0; n < 23; n += 1) {
          // Every third goes; groups share one instant, so that the id decides.
          made.push(
            await create("hang", { createdAt: start - Math.floor(n / 4), ttlMs: n % 3 === 0 ? 10 * MINUTE : HOUR }),
          );
        }
        const order = [...made].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
        const query = { namespace: "n", owner: "o", limit: 5 };
        const seen: TaskListRow[] = [];
        let page = await store.list(query);
        for (let pages = 1; ; pages += 1) {
          seen.push(...page.rows);
          if (!page.more) break;
          if (pages === 2) {
            advance(20 * MINUTE);
            await store.sweep(1_000);
            await create("hang", { createdAt: clock() });
          }
          const { createdAt, id } = seen.at(-1) as TaskListRow;
          page = await store.list({ ...query, after: { createdAt, id } });
        }
        const before = order.slice(0, 10);
        const after = order.slice(10).filter(({ ttlMs }) => ttlMs === HOUR);
        expect(seen.map(({ id }) => id)).toEqual([...before, ...after].map(({ id }) => id));
      });

      it("is one owner's and one namespace's, and empty for whoever has nothing", async () => {
        const { store, create } = await setUp();
        await create("hang");
        expect(await store.list({ namespace: "n", owner: "other", limit: 10 })).toEqual({ rows: [], more: false });
        expect(await store.list({ namespace: "elsewhere", owner: "o", limit: 10 })).toEqual({ rows: [], more: false });
      });
    });

    describe("watch", () => {
      it("gives where the task stands, then every event in order, and ends when it settles", async () => {
        const { store, create, waiting } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        const feed = await store.watch({ id, owner: "o" }, { signal: new AbortController().signal });
        const messages = collect(feed);
        await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept("Ada") } });
        const [first, ...events] = await messages;
        expect(first).toMatchObject({ kind: "snapshot", task: { id, stage: { phase: "input_required" } } });
        expect(events.map(nameOf)).toEqual(["answered", "started", "settled"]);
        expect(seqs(events)).toEqual(range((first as { task: TaskSnapshot }).task.version + 1, 3));
      });

      it("replays from a cursor what a late watcher missed, also of a settled task", async () => {
        const { store, create, settled, waiting } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept("Ada") } });
        const { version } = await settled(id);
        const all = await collect(
          await store.watch({ id, owner: "o" }, { after: 0, signal: new AbortController().signal }),
        );
        expect(all[0]).toMatchObject({ kind: "snapshot", task: { version, stage: { phase: "settled" } } });
        expect(seqs(all.slice(1))).toEqual(range(1, version));
        expect(all.slice(1).map(nameOf)).toEqual(["created", "started", "asked", "answered", "started", "settled"]);
        const rest = await collect(
          await store.watch({ id, owner: "o" }, { after: version - 1, signal: new AbortController().signal }),
        );
        expect(seqs(rest.slice(1))).toEqual([version]);
        const none = await collect(await store.watch({ id, owner: "o" }, { signal: new AbortController().signal }));
        expect(none.map(nameOf)).toEqual(["snapshot"]);
      });

      it("keeps of progress only the newest, in its place", async () => {
        const { store, create, settled } = await setUp();
        const { id } = await create("report");
        await settled(id);
        const all = await collect(
          await store.watch({ id, owner: "o" }, { after: 0, signal: new AbortController().signal }),
        );
        expect(all.slice(1).map(nameOf)).toEqual(["created", "started", "progressed", "stepped", "settled"]);
        expect(seqs(all.slice(1))).toEqual(range(1, 5));
      });

      it("has one watcher carry the questions: the most willing, and whoever has sent one until its stream ends", async () => {
        const { store, create, waiting } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        const open = async (deliver: 0 | 1 | 2) => {
          const leaving = new AbortController();
          const got: string[] = [];
          const feed = await store.watch({ id, owner: "o" }, { deliver, signal: leaving.signal });
          void (async () => {
            for await (const message of feed ?? [])
              if (message.kind === "deliver") got.push(message.questions.map(({ key }) => key).join());
          })();
          return { got, leave: () => leaving.abort() };
        };
        const watcher = await open(0);
        const first = await open(1);
        await until(() => first.got.length === 1);
        const second = await open(2);
        const third = await open(1);
        // Refused answers are asked again under another key, on the stream that has the question.
        await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept(42) } });
        await until(() => first.got.length === 2);
        expect([watcher.got, first.got, second.got, third.got]).toEqual([[], ["name", "name-2"], [], []]);
        first.leave();
        await until(() => second.got.length === 1);
        second.leave();
        await until(() => third.got.length === 1);
        expect([watcher.got, second.got, third.got]).toEqual([[], ["name-2"], ["name-2"]]);
        third.leave();
        watcher.leave();
      });

      it("passes the carrying on to a more willing watcher while nothing is asked", async () => {
        const { store, create } = await setUp();
        const { id } = await create("hang");
        const got: string[] = [];
        const leaving = new AbortController();
        const follow = async (name: string, deliver: 1 | 2) => {
          const feed = await store.watch({ id, owner: "o" }, { deliver, signal: leaving.signal });
          void (async () => {
            for await (const message of feed ?? []) if (message.kind === "deliver") got.push(name);
          })();
        };
        await follow("less", 1);
        await until(() => got.length === 1);
        await follow("more", 2);
        await until(() => got.length === 2);
        expect(got).toEqual(["less", "more"]);
        leaving.abort();
      });

      it("leaves the outcome's body to a read", async () => {
        const { store, create, settled } = await setUp();
        const { id } = await create("echo", { arguments: JSON.stringify({ text: "a long body" }) });
        await settled(id);
        const messages = await collect(await store.watch({ id, owner: "o" }, { signal: new AbortController().signal }));
        expect(messages[0]).toMatchObject({ task: { stage: { phase: "settled", outcome: { kind: "result" } } } });
        expect(JSON.stringify(messages)).not.toContain("a long body");
      });

      it("tells any number of watchers the same", async () => {
        const { store, create, waiting } = await setUp();
        const { id } = await create("ask");
        await waiting(id);
        const feeds = await Promise.all(
          Array.from({ length: 10 }, () => store.watch({ id, owner: "o" }, { signal: new AbortController().signal })),
        );
        const all = feeds.map(collect);
        await store.tell({ id, owner: "o" }, { kind: "cancel" });
        const [one, ...others] = await Promise.all(all);
        expect(one?.map(nameOf)).toEqual(["snapshot", "cancelled"]);
        expect(others).toEqual(Array(9).fill(one));
      });

      it("ends when its signal aborts", async () => {
        const { store, create } = await setUp();
        const { id } = await create("hang");
        const leaving = new AbortController();
        const messages = collect(await store.watch({ id, owner: "o" }, { signal: leaving.signal }));
        leaving.abort();
        expect((await messages).length).toBeLessThanOrEqual(2);
        expect((await store.read({ id, owner: "o" }))?.stage.phase).not.toBe("settled");
      });

      it("ends with gone when the task is collected", async () => {
        const { store, create, advance, waiting } = await setUp({ questionTtlMs: MINUTE });
        const { id } = await create("ask", { ttlMs: 2 * MINUTE });
        await waiting(id);
        const messages = collect(await store.watch({ id, owner: "o" }, { signal: new AbortController().signal }));
        advance(HOUR);
        await store.sweep(1_000);
        expect((await messages).at(-1)).toEqual({ kind: "gone" });
      });
    });

    describe("listen", () => {
      it("is ready at once, then names each of the owner's tasks that changes, and nobody else's", async () => {
        const { store, create, waiting, until } = await setUp();
        const leaving = new AbortController();
        const heard: unknown[] = [];
        const listening = (async () => {
          for await (const message of store.listen("n", "o", leaving.signal)) heard.push(message);
        })();
        await until(() => heard.length > 0);
        expect(heard).toEqual([{ kind: "ready" }]);
        await create("hang", { owner: "other" });
        await create("hang", { namespace: "elsewhere" });
        const { id } = await create("ask");
        await waiting(id);
        await store.tell({ id, owner: "o" }, { kind: "cancel" });
        await until(() => heard.some((message) => (message as { phase?: Phase }).phase === "settled"));
        leaving.abort();
        await listening;
        expect(
          heard
            .slice(1)
            .every(
              (message) =>
                (message as { kind: string; id: string }).kind === "change" && (message as { id: string }).id === id,
            ),
        ).toBe(true);
        const versions = heard.slice(1).map((message) => (message as { version: number }).version);
        expect(versions).toEqual([...versions].sort((a, b) => a - b));
      });

      it("says gone when a task is collected", async () => {
        const { store, create, advance, until } = await setUp();
        const { id } = await create("hang", { ttlMs: MINUTE });
        const leaving = new AbortController();
        const heard: unknown[] = [];
        const listening = (async () => {
          for await (const message of store.listen("n", "o", leaving.signal)) heard.push(message);
        })();
        await until(() => heard.length > 0);
        advance(HOUR);
        await store.sweep(1_000);
        await until(() => heard.some((message) => (message as { kind: string }).kind === "gone"));
        expect(heard.at(-1)).toEqual({ kind: "gone", id });
        leaving.abort();
        await listening;
      });
    });

    describe("expiry", () => {
      it("is a fact of reading, before anything is collected", async () => {
        const { store, create, rows, advance, settled } = await setUp({ minTtlMs: 1_000 });
        const working = await create("hang", { ttlMs: MINUTE });
        const done = await settled((await create("echo", { ttlMs: MINUTE })).id);
        advance(MINUTE);
        for (const { id } of [working, done]) {
          const ref = { id, owner: "o" };
          expect(await store.read(ref)).toBeNull();
          expect(await store.tell(ref, { kind: "cancel" })).toBeNull();
          expect(await store.watch(ref, { signal: new AbortController().signal })).toBeNull();
        }
        expect(await rows()).toEqual([]);
      });

      it("leaves time to fetch what settled just before", async () => {
        const { store, create, advance, waiting } = await setUp({ minTtlMs: 10 * MINUTE, questionTtlMs: MINUTE });
        const { id } = await create("ask", { ttlMs: HOUR });
        await waiting(id);
        advance(HOUR - 2_000);
        await store.tell({ id, owner: "o" }, { kind: "cancel" });
        advance(9 * MINUTE);
        expect(await store.read({ id, owner: "o" })).not.toBeNull();
        advance(MINUTE);
        expect(await store.read({ id, owner: "o" })).toBeNull();
      });

      it("removes exactly what has expired, once, in two runs at the same time (P06)", async () => {
        const { store, create, rows, until, advance, clock } = await setUp({
          minTtlMs: 1_000,
          questionTtlMs: MINUTE,
          retentionMs: 10 * HOUR,
        });
        const SHORT = 30 * MINUTE;
        const tools = ["hang", "ask", "nap", "echo", "refuse"] as const;
        const ttls = [SHORT, SHORT, 2 * HOUR, null, null, 3 * HOUR];
        const made: TaskSnapshot[] = [];
        for (const tool of tools) {
          for (const ttlMs of ttls)
            made.push(await create(tool, { ttlMs, arguments: JSON.stringify({ until: clock() + MINUTE }) }));
        }
        await store.tell({ id: (made[0] as TaskSnapshot).id, owner: "o" }, { kind: "cancel" });
        await until(async () => (await rows()).every(({ phase }) => phase !== "submitted"));
        expect(new Set((await rows()).map(({ phase }) => phase))).toEqual(
          new Set(["working", "input_required", "settled"]),
        );
        advance(HOUR);
        const short = made.filter(({ ttlMs }) => ttlMs === SHORT).map(({ id }) => id);
        expect(short).toHaveLength(10);
        const reports = await Promise.all([store.sweep(1_000), store.sweep(1_000)]);
        expect(reports.map(({ finished }) => finished)).toEqual([true, true]);
        expect(collected(reports)).toBe(10);
        const left = made.filter(({ ttlMs }) => ttlMs !== SHORT).map(({ id }) => id);
        expect(new Set((await rows()).map(({ id }) => id))).toEqual(new Set(left));
        for (const { id } of made) expect((await store.read({ id, owner: "o" })) === null).toBe(short.includes(id));
        expect(collected([await store.sweep(1_000)])).toBe(0);
        for (const id of short)
          expect(
            await store.tell({ id, owner: "o" }, { kind: "answer", answers: { name: accept("late") } }),
          ).toBeNull();
        expect(await rows()).toHaveLength(20);
      });

      it("comes for a settled task without ttl when its retention is over, and never for a live one", async () => {
        const { store, create, settled, advance } = await setUp({ retentionMs: HOUR });
        const live = await create("hang", { ttlMs: null });
        const done = await settled((await create("echo", { ttlMs: null })).id);
        advance(59 * MINUTE);
        expect(await store.read({ id: done.id, owner: "o" })).not.toBeNull();
        advance(HOUR);
        expect(await store.read({ id: done.id, owner: "o" })).toBeNull();
        expect(collected([await store.sweep(1_000)])).toBe(1);
        expect(await store.read({ id: live.id, owner: "o" })).not.toBeNull();
      });

      it("frees the places of collected tasks", async () => {
        const { store, draft, create, advance } = await setUp({ maxTasksPerOwner: 2 });
        await create("hang", { ttlMs: MINUTE });
        await create("echo", { ttlMs: MINUTE });
        expect((await store.create(draft("echo"))).kind).toBe("limit");
        advance(HOUR);
        await store.sweep(1_000);
        expect((await store.create(draft("echo"))).kind).toBe("created");
        expect((await store.create(draft("echo"))).kind).toBe("created");
        expect((await store.create(draft("echo"))).kind).toBe("limit");
      });

      it("collects anonymous tasks too", async () => {
        const { store, draft, advance } = await setUp();
        const made = await Promise.all(
          Array.from({ length: 20 }, () => store.create(draft("hang", { owner: null, ttlMs: MINUTE }))),
        );
        advance(HOUR);
        expect(collected([await store.sweep(1_000)])).toBe(20);
        for (const one of made) expect(await store.read({ id: taskOf(one).id, owner: null })).toBeNull();
      });

      it("is collected within a budget, and the next run goes on", async () => {
        const { store, create, advance, rows } = await setUp();
        for (let n = 0; n < 30; n += 1) await create("hang", { ttlMs: MINUTE });
        const kept = await create("hang", { ttlMs: null });
        advance(HOUR);
        const reports = [];
        do reports.push(await store.sweep(25));
        while (reports.at(-1)?.finished === false && reports.length < 10);
        expect(reports.length).toBeGreaterThan(1);
        expect(Math.max(...reports.map(({ calls }) => calls))).toBeLessThanOrEqual(25);
        expect(collected(reports)).toBe(30);
        expect((await rows()).map(({ id }) => id)).toEqual([kept.id]);
      });
    });

    describeSearch(makeStore);
    describeConversation(makeStore);
    describeWork(makeStore);
  });

  const setUp = (over: Partial<Limits> = {}) => setUpStore(makeStore, over);
}

async function collect(feed: AsyncIterable<TaskFeedMessage> | null): Promise<TaskFeedMessage[]> {
  return take(feed, Infinity);
}

async function take(feed: AsyncIterable<TaskFeedMessage> | null, limit: number): Promise<TaskFeedMessage[]> {
  if (!feed) throw new Error("No feed.");
  const messages: TaskFeedMessage[] = [];
  for await (const message of feed) if (messages.push(message) >= limit) break;
  return messages;
}

/** A task that went before its index had heard of it counts as a reservation. */
const collected = (reports: readonly SweepReport[]): number =>
  reports.reduce((sum, { removed, dropped }) => sum + removed + dropped, 0);

const nameOf = (message: TaskFeedMessage): string => (message.kind === "event" ? message.entry.event : message.kind);

const seqs = (messages: readonly TaskFeedMessage[]): number[] =>
  messages.flatMap((message) => (message.kind === "event" ? [message.entry.seq] : []));

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n);

/** The same 32 bytes in another spelling: the last character has bits that no byte uses. */
function nonCanonical(id: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = alphabet.indexOf(id.slice(-1));
  return id.slice(0, -1) + alphabet[last + 1];
}
