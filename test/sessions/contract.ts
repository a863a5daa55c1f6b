import { describe, expect, it } from "vitest";
import {
  ASKING_TASKS,
  REPLAY_BYTES,
  REPLAY_EVENTS,
  SESSION_KEYS,
  type Session,
  type SessionMessage,
  type SessionRole,
  type Sessions,
} from "../../src/service/sessions";
import type { TaskStore } from "../../src/service/task-store";
import type { Owner } from "../../src/task/task";
import { draft } from "../support/task";

const DAY = 86_400_000;
const STREAM = { kind: "stream" } as const;

export type SessionStage = {
  readonly sessions: Sessions;
  /** A store whose tasks tell these sessions what they ask. */
  readonly store: TaskStore;
  readonly now: () => number;
  /** Lets the session's time run out. */
  readonly expire: (session: Session) => Promise<void>;
};

/** What sessions do, whatever they are kept in. `makeStage` gives a place where there are none. */
export function describeSessions(name: string, makeStage: () => SessionStage | Promise<SessionStage>): void {
  const setUp = async () => {
    const stage = await makeStage();
    return { ...stage, session: aSession("s", stage.now()), other: aSession("other", stage.now()) };
  };

  describe(name, () => {
    describe("the replay log", () => {
      it("numbers each stream's events, and gives back what came after one on that stream, in order", async () => {
        const { sessions, session } = await setUp();
        const ids = [];
        for (const stream of ["a", "b", "a", "a", "b"])
          ids.push(await sessions.append(session, stream, `"${ids.length}"`));
        expect(ids).toEqual(["a.1", "b.1", "a.2", "a.3", "b.2"]);
        expect(await sessions.replay(session, "a.1")).toEqual({
          stream: "a",
          events: [
            { id: "a.2", message: '"2"' },
            { id: "a.3", message: '"3"' },
          ],
        });
        expect(await idsAfter(sessions, session, "b.0")).toEqual(["b.1", "b.2"]);
        expect(await sessions.replay(session, "b.2")).toEqual({ stream: "b", events: [] });
      });

      it("knows a stream by any name, and keeps a message byte for byte", async () => {
        const { sessions, session } = await setUp();
        const message = JSON.stringify({ ["__proto__"]: "\ud800\u0000\u2028😀\r\n", n: 1.0 });
        expect(await sessions.append(session, "a.1", message)).toBe("a.1.1");
        expect((await sessions.replay(session, "a.1.0"))?.events).toEqual([{ id: "a.1.1", message }]);
      });

      it("does not know an id that it never gave out", async () => {
        const { sessions, session, other } = await setUp();
        await sessions.append(session, "a", "1");
        const strange = ["", "a", "a.", ".1", "a.2", "a.-1", "a.01", "a.1x", "a.1e0", "a.1\n", "b.0", `a.${2 ** 60}`];
        const found = await Promise.all(strange.map((id) => sessions.replay(session, id)));
        expect(found).toEqual(strange.map(() => null));
        expect(await sessions.replay(other, "a.0")).toBeNull();
        expect(await idsAfter(sessions, session, "a.0")).toEqual(["a.1"]);
      });

      it("keeps the newest events of all streams together, and replays no gap", async () => {
        const { sessions, session } = await setUp();
        for (let n = 1; n <= REPLAY_EVENTS / 2 + 10; n += 1) {
          await sessions.append(session, "a", String(n));
          await sessions.append(session, "b", String(n));
        }
        expect(await sessions.replay(session, "a.9")).toBeNull();
        expect(await sessions.replay(session, "b.9")).toBeNull();
        expect(await idsAfter(sessions, session, "a.10")).toHaveLength(REPLAY_EVENTS / 2);
        expect(await idsAfter(sessions, session, "b.10")).toHaveLength(REPLAY_EVENTS / 2);
      });

      it("keeps no more bytes than its bound, and counts on for a stream of which nothing is left", async () => {
        const { sessions, session } = await setUp();
        await sessions.append(session, "a", "1");
        expect(await sessions.append(session, "b", ofBytes(REPLAY_BYTES / 2))).toBe("b.1");
        expect(await sessions.append(session, "b", ofBytes(REPLAY_BYTES / 2 - 1))).toBe("b.2");
        expect(await idsAfter(sessions, session, "a.0")).toEqual(["a.1"]);
        expect(await sessions.append(session, "b", "22")).toBe("b.3");
        expect(await sessions.replay(session, "a.0")).toBeNull();
        expect(await sessions.replay(session, "a.1")).toEqual({ stream: "a", events: [] });
        expect(await idsAfter(sessions, session, "b.0")).toBeNull();
        expect(await idsAfter(sessions, session, "b.1")).toEqual(["b.2", "b.3"]);
        expect(await sessions.append(session, "a", "2")).toBe("a.2");
        expect(await idsAfter(sessions, session, "a.1")).toEqual(["a.2"]);
      });

      it("has the place of what it dropped to give again", async () => {
        const { sessions, session } = await setUp();
        const large = ofBytes(REPLAY_BYTES - 1_000);
        for (const message of [large, ...Array(REPLAY_EVENTS).fill("1"), large]) {
          await sessions.append(session, "a", message as string);
        }
        expect(await idsAfter(sessions, session, "a.2")).toHaveLength(REPLAY_EVENTS);
      });

      it("counts a message that is too large for it, and leaves what others sent alone", async () => {
        const { sessions, session } = await setUp();
        await sessions.append(session, "a", "1");
        await sessions.append(session, "b", "1");
        expect(await sessions.append(session, "a", ofBytes(REPLAY_BYTES + 1))).toBe("a.2");
        expect(await sessions.append(session, "a", "3")).toBe("a.3");
        expect(await sessions.replay(session, "a.1")).toBeNull();
        expect(await idsAfter(sessions, session, "a.2")).toEqual(["a.3"]);
        expect(await idsAfter(sessions, session, "b.0")).toEqual(["b.1"]);
      });

      it("gives no id twice under parallel appends", async () => {
        const { sessions, session } = await setUp();
        const ids = await Promise.all(Array.from({ length: 50 }, (_, n) => sessions.append(session, "a", String(n))));
        expect(new Set(ids).size).toBe(50);
        expect(await idsAfter(sessions, session, "a.0")).toEqual(Array.from({ length: 50 }, (_, n) => `a.${n + 1}`));
      });
    });

    it("the log level is what was set last, and nothing before", async () => {
      const { sessions, session, other } = await setUp();
      expect(await sessions.logLevel(session)).toBeNull();
      await sessions.setLogLevel(session, "debug");
      await sessions.setLogLevel(session, "error");
      expect(await sessions.logLevel(session)).toBe("error");
      expect(await sessions.logLevel(other)).toBeNull();
    });

    describe("a stream", () => {
      it("is ready at once, then hears of each anonymous task that asks something", async () => {
        const { sessions, session, other } = await setUp();
        const [one, two] = [attached(sessions, session, STREAM), attached(sessions, session, STREAM)];
        const strange = attached(sessions, other, STREAM);
        await allReady(one, two, strange);
        await sessions.asking(session, "task");
        const asked = [ready(), { kind: "asking", task: "task" }];
        await expect.poll(() => [one.heard, two.heard]).toEqual([asked, asked]);
        expect(strange.heard).toEqual([ready()]);
        await leave(one, two, strange);
      });

      it("is told what asked before it came, the latest last", async () => {
        const { sessions, session } = await setUp();
        for (const task of ["a", "b", "c", "a"]) await sessions.asking(session, task);
        const stream = attached(sessions, session, STREAM);
        await expect.poll(() => stream.heard).toEqual([ready("b", "c", "a")]);
        await leave(stream);
      });

      it("is told of the newest only, when very many have asked", async () => {
        const { sessions, session } = await setUp();
        const tasks = Array.from({ length: ASKING_TASKS + 5 }, (_, n) => `task ${n}`);
        for (const task of tasks) await sessions.asking(session, task);
        for (let again = 0; again < 10; again += 1) await sessions.asking(session, tasks.at(-1) as string);
        const stream = attached(sessions, session, STREAM);
        await expect.poll(() => stream.heard).toEqual([ready(...tasks.slice(5))]);
        await leave(stream);
      });

      it.each<[string, Owner, readonly string[]]>([
        ["hears of an anonymous task of its session that asks", null, ["task"]],
        ["hears nothing of an identified owner's task, who has a feed of them all", "o", []],
      ])("%s", async (_, owner, expected) => {
        const { sessions, store, session, now } = await setUp();
        const stream = attached(sessions, session, STREAM);
        await allReady(stream);
        const id = store.mint();
        const client = { ...draft().client, session };
        await store.create(draft({ id, owner, tool: "ask", client, createdAt: now(), ttlMs: DAY }));
        await expect.poll(async () => (await store.read({ id, owner }))?.stage.phase).toBe("input_required");
        // Told in order: what the task had to say has come when this has.
        await expect.poll(() => stream.heard.length).toBe(1 + expected.length);
        await sessions.asking(session, "the end");
        await expect.poll(() => stream.heard.at(-1)).toEqual({ kind: "asking", task: "the end" });
        expect(stream.heard.slice(1, -1)).toEqual(expected.map(() => ({ kind: "asking", task: id })));
        await leave(stream);
      });
    });

    describe("a call", () => {
      it("gets the answers to what it asked, and nobody else does", async () => {
        const { sessions, session, other } = await setUp();
        const [one, two] = [attached(sessions, session, call("one", 1)), attached(sessions, session, call("two", 2))];
        const [stream, strange] = [attached(sessions, session, STREAM), attached(sessions, other, call("one", 1))];
        await allReady(one, two, stream, strange);
        const answer = JSON.stringify({ action: "accept", content: { v: "\ud800☃" } });
        expect(await sessions.answer(session, "one", "name", answer)).toBe(true);
        expect(await sessions.answer(session, "one", "age", "{}")).toBe(true);
        expect(await sessions.answer(session, "none", "name", answer)).toBe(false);
        await expect
          .poll(() => one.heard)
          .toEqual([ready(), { kind: "answer", key: "name", answer }, { kind: "answer", key: "age", answer: "{}" }]);
        await sessions.answer(session, "two", "last", "1");
        await expect.poll(() => two.heard).toEqual([ready(), { kind: "answer", key: "last", answer: "1" }]);
        expect([stream.heard, strange.heard]).toEqual([[ready()], [ready()]]);
        await leave(one, two, stream, strange);
      });

      it("is told when it is cancelled, by the very id of its request", async () => {
        const { sessions, session } = await setUp();
        const long = "☃".repeat(100_000);
        const ids = [1, "1", long, `${long}!`] as const;
        const calls = ids.map((id, n) => attached(sessions, session, call(`call ${n}`, id)));
        await allReady(...calls);
        expect(await sessions.cancel(session, "2")).toBe(false);
        for (const [n, id] of ids.entries()) {
          expect(await sessions.cancel(session, id)).toBe(true);
          const expected = calls.map((_, at) => (at <= n ? [ready(), { kind: "cancelled" }] : [ready()]));
          await expect.poll(() => calls.map(({ heard }) => heard)).toEqual(expected);
        }
        await leave(...calls);
      });

      it("is told when it connects only after it was cancelled", async () => {
        const { sessions, session } = await setUp();
        expect(await sessions.cancel(session, 7)).toBe(false);
        const [late, other] = [
          attached(sessions, session, call("late", 7)),
          attached(sessions, session, call("other", 8)),
        ];
        await allReady(late, other);
        await expect.poll(() => late.heard).toEqual([ready(), { kind: "cancelled" }]);
        expect(other.heard).toEqual([ready()]);
        await leave(late, other);
      });

      it("hears nothing of tasks that ask", async () => {
        const { sessions, session } = await setUp();
        await sessions.asking(session, "before");
        const one = attached(sessions, session, call("one", 1));
        await allReady(one);
        await sessions.asking(session, "after");
        await sessions.cancel(session, 1);
        await expect.poll(() => one.heard).toEqual([ready(), { kind: "cancelled" }]);
        await leave(one);
      });

      it("takes nothing once it has left", async () => {
        const { sessions, session } = await setUp();
        const one = attached(sessions, session, call("one", 1));
        await allReady(one);
        await leave(one);
        await expect.poll(() => sessions.answer(session, "one", "name", "1")).toBe(false);
        expect(await sessions.cancel(session, 1)).toBe(false);
        expect(one.heard).toEqual([ready()]);
      });

      it("that has left before it began hears nothing", async () => {
        const { sessions, session } = await setUp();
        const heard: SessionMessage[] = [];
        for await (const message of sessions.attach(session, call("one", 1), AbortSignal.abort())) heard.push(message);
        expect(heard.filter(({ kind }) => kind !== "ready")).toEqual([]);
        await expect.poll(() => sessions.cancel(session, 1)).toBe(false);
      });
    });

    describe("an idempotency key", () => {
      const key = { key: "k", digest: "d" };

      it("stays with the first task id it was bound to; another body is a conflict", async () => {
        const { sessions, session, other } = await setUp();
        expect(await sessions.claim(session, "tool", key, "one")).toEqual({ kind: "claimed", id: "one" });
        expect(await sessions.claim(session, "tool", key, "two")).toEqual({ kind: "existing", id: "one" });
        expect(await sessions.claim(session, "tool", { key: "k", digest: "x" }, "three")).toEqual({ kind: "conflict" });
        expect(await sessions.claim(session, "else", { key: "k", digest: "x" }, "four")).toMatchObject({ id: "four" });
        expect(await sessions.claim(other, "tool", { key: "k", digest: "x" }, "five")).toMatchObject({ id: "five" });
      });

      it("is claimed, not found, by a repeat that comes with the same id", async () => {
        const { sessions, session } = await setUp();
        await sessions.claim(session, "tool", key, "one");
        expect(await sessions.claim(session, "tool", key, "one")).toEqual({ kind: "claimed", id: "one" });
      });

      it("is bound once under any number of parallel calls", async () => {
        const { sessions, session } = await setUp();
        const claims = await Promise.all(
          Array.from({ length: 20 }, (_, n) => sessions.claim(session, "tool", key, `task ${n}`)),
        );
        expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
        expect(new Set(claims.map((claim) => ("id" in claim ? claim.id : claim.kind))).size).toBe(1);
      });

      it("is refused when a session has used very many; those are still found", async () => {
        const { sessions, session } = await setUp();
        const claim = (n: number) => sessions.claim(session, "tool", { key: `k${n}`, digest: "d" }, `task ${n}`);
        const claims = await Promise.all(Array.from({ length: SESSION_KEYS + 5 }, (_, n) => claim(n)));
        expect(claims.filter(({ kind }) => kind === "claimed")).toHaveLength(SESSION_KEYS);
        expect(claims.filter(({ kind }) => kind === "limit")).toHaveLength(5);
        const used = claims.findIndex(({ kind }) => kind === "claimed");
        const again = { key: `k${used}`, digest: "d" };
        expect(await sessions.claim(session, "tool", again, "x")).toEqual({ kind: "existing", id: `task ${used}` });
      });
    });

    it("nothing is left of a session when its time is over, and whoever was connected is let go", async () => {
      const { sessions, session, expire } = await setUp();
      const key = { key: "k", digest: "d" };
      await sessions.append(session, "a", "1");
      await sessions.setLogLevel(session, "debug");
      await sessions.asking(session, "task");
      await sessions.claim(session, "tool", key, "one");
      const [stream, one] = [attached(sessions, session, STREAM), attached(sessions, session, call("one", 1))];
      await allReady(stream, one);
      await expire(session);
      await Promise.all([stream.ended, one.ended]);
      expect(await sessions.replay(session, "a.0")).toBeNull();
      expect(await sessions.logLevel(session)).toBeNull();
      expect(await sessions.answer(session, "one", "name", "1")).toBe(false);
      expect(await sessions.claim(session, "tool", { ...key, digest: "x" }, "two")).toMatchObject({ kind: "claimed" });
    });
  });
}

export const aSession = (key: string, now: number): Session => ({ key, expiresAt: now + DAY });

export const call = (name: string, requestId: string | number): SessionRole => ({
  kind: "call",
  call: name,
  requestId,
});

export const ready = (...asking: string[]): SessionMessage => ({ kind: "ready", asking });

export type Attachment = {
  readonly heard: SessionMessage[];
  readonly ended: Promise<void>;
  readonly abort: () => void;
};

/** Listens until it leaves; `heard` grows meanwhile. */
export function attached(sessions: Sessions, session: Session, role: SessionRole): Attachment {
  const leaving = new AbortController();
  const heard: SessionMessage[] = [];
  const ended = (async () => {
    for await (const message of sessions.attach(session, role, leaving.signal)) heard.push(message);
  })();
  return { heard, ended, abort: () => leaving.abort() };
}

export const allReady = (...ends: readonly Attachment[]) =>
  expect.poll(() => ends.every(({ heard }) => heard.length > 0)).toBe(true);

export async function leave(...ends: readonly Attachment[]): Promise<void> {
  for (const end of ends) end.abort();
  await Promise.all(ends.map(({ ended }) => ended));
}

async function idsAfter(sessions: Sessions, session: Session, lastEventId: string): Promise<readonly string[] | null> {
  const replayed = await sessions.replay(session, lastEventId);
  return replayed && replayed.events.map(({ id }) => id);
}

/** A JSON text of so many bytes in UTF-8, which is about half as many characters. */
function ofBytes(bytes: number): string {
  const text = "é".repeat(Math.floor((bytes - 2) / 2));
  return JSON.stringify(bytes % 2 === 0 ? text : `${text}e`);
}
