import { describe, expect, it } from "vitest";
import type { Said, TaskSnapshot, TaskStore } from "../../src/service/task-store";
import type { AskedQuestion } from "../../src/task/questions";
import { ARGUMENTS_KEY, type PushWish } from "../../src/task/task";
import { HOUR, resultText, setUpStore } from "./set-up";
import type { StoreParts } from "./stage";
import { accept } from "./tools";

/** A question for an argument that was left out. */
export const missing = (deadline: number): AskedQuestion => ({
  authorKey: ARGUMENTS_KEY,
  occurrence: 1,
  deadline,
  request: {
    method: "elicitation/create",
    params: {
      message: "Which city?",
      requestedSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
});

const turn = (id: string, text: string, digest = `digest of ${text}`): Said => ({
  id,
  digest,
  message: JSON.stringify({ text }),
});

const ODD = '😀\u2028\u0000\r\n"\\ü\ufeff\ud800x';

/** What is said from both sides of a task, and what a task asks before it begins. */
export function describeConversation(makeStore: (parts: StoreParts) => TaskStore | Promise<TaskStore>): void {
  describe("a conversation", () => {
    it("is read verbatim, and only when it is asked for", async () => {
      const { store, create, waiting, ref, said } = await setUp();
      const text = ODD.repeat(50_000);
      const [args, extras] = [` { "text" : ${JSON.stringify(text)} } `, `{"m":${JSON.stringify(text)},"n":1.0}`];
      const { id } = await create("ask", { arguments: args, extras });
      await waiting(id);
      const first = { ...turn("m\ud800", "one"), message: ` [${JSON.stringify(text)}]` };
      await store.tell(ref(id), { kind: "say", turn: first, statusMessage: null });
      await store.tell(ref(id), { kind: "say", turn: turn("2", "two"), statusMessage: null });
      for (const options of [undefined, {}, { body: false }, { body: true }, { conversation: false }]) {
        expect(await store.read(ref(id), options)).not.toHaveProperty("conversation");
      }
      for (const body of [true, false]) {
        const { conversation } = (await store.read(ref(id), { body, conversation: true })) as TaskSnapshot;
        expect([conversation?.arguments === args, conversation?.extras === extras]).toEqual([true, true]);
        expect(conversation?.turns.map((one) => [one.id, one.digest === first.digest])).toEqual([
          ["m\ud800", true],
          ["2", false],
        ]);
        expect(conversation?.turns[0]?.message === first.message).toBe(true);
        expect(conversation?.push).toEqual([]);
      }
      expect(await said(id)).toHaveLength(2);
      expect(await store.poll(ref(id), { conversation: true })).toMatchObject({
        task: { conversation: { turns: [{ id: "m\ud800" }, { id: "2", message: '{"text":"two"}' }] } },
      });
    });

    it("leaves out what a settled task came to where that is not asked for", async () => {
      const { store, create, settled, ref } = await setUp();
      const { id } = await create("echo", { arguments: '{"text":"the body"}' });
      await settled(id);
      const whole = await store.read(ref(id), { conversation: true });
      expect(resultText(whole as TaskSnapshot)).toBe("the body");
      const part = await store.read(ref(id), { body: false, conversation: true });
      expect(part).toMatchObject({ conversation: { arguments: '{"text":"the body"}', extras: null, turns: [] } });
      expect(part?.stage).toMatchObject({ outcome: { result: "null" } });
    });

    it("keeps the message that answers, once", async () => {
      const { store, create, waiting, settled, ref, said } = await setUp();
      const { id } = await create("ask");
      await waiting(id);
      const answer = (message: Said, v: unknown) =>
        store.tell(ref(id), { kind: "answer", answers: { name: accept(v), "name-2": accept(v) }, turn: message });
      const unusable = await answer(turn("1", "seven"), 7);
      expect(unusable).toMatchObject({ changed: true, task: { openQuestions: [{ key: "name-2" }] } });
      expect(await answer(turn("1", "seven"), "Eve")).toEqual({ task: unusable?.task, changed: false });
      expect(await answer(turn("1", "Ada"), "Ada")).toMatchObject({ changed: true, task: { openQuestions: [] } });
      expect(resultText(await settled(id))).toBe(accept("Ada"));
      expect(await answer(turn("3", "late"), "late")).toMatchObject({ changed: false });
      expect((await said(id))?.map((one) => [one.id, one.message])).toEqual([
        ["1", '{"text":"seven"}'],
        ["1", '{"text":"Ada"}'],
      ]);
    });

    it("takes what answers nothing, once, and says what would", async () => {
      const { store, create, waiting, ref, said, clock } = await setUp();
      const { id } = await create("ask");
      const { version, statusAt, statusMessage } = await waiting(id);
      const say = (message: Said, what: string | null) =>
        store.tell(ref(id), { kind: "say", turn: message, statusMessage: what });
      const told = await say(turn("1", "hm"), "Say a name.");
      const task = { version: version + 1, statusAt, statusMessage: "Say a name.", openQuestions: [{ key: "name" }] };
      expect(told).toMatchObject({ changed: true, task });
      expect(await say(turn("1", "hm"), "Something else.")).toEqual({ task: told?.task, changed: false });
      expect(await say(turn("1", "well"), null)).toMatchObject({
        changed: true,
        task: { ...task, version: version + 2 },
      });
      expect(
        await store.tell({ id, owner: "other" }, { kind: "say", turn: turn("9", "x"), statusMessage: null }),
      ).toBeNull();
      expect(statusMessage).toBe("Name?");
      expect(await said(id)).toEqual([
        { ...turn("1", "hm"), at: expect.closeTo(clock(), -4) },
        { ...turn("1", "well"), at: expect.closeTo(clock(), -4) },
      ]);
    });

    it("keeps the newest messages, so many characters of them", async () => {
      const { store, create, waiting, ref, said } = await setUp();
      const { id } = await create("ask");
      await waiting(id);
      const long = (name: string) => ({ ...turn(name, name), message: JSON.stringify(name.repeat(1_500_000)) });
      await store.tell(ref(id), { kind: "answer", answers: {}, turn: long("1") });
      await store.tell(ref(id), { kind: "say", turn: long("2"), statusMessage: null });
      await store.tell(ref(id), { kind: "answer", answers: {}, turn: long("3") });
      expect((await said(id))?.map((one) => one.id)).toEqual(["2", "3"]);
      await store.tell(ref(id), { kind: "say", turn: long("4"), statusMessage: null });
      const kept = await said(id);
      expect(kept?.map((one) => [one.id, one.message.length])).toEqual([
        ["3", 1_500_002],
        ["4", 1_500_002],
      ]);
    });

    it("goes on through the task's life, whoever writes the task besides", async () => {
      const { store, create, waiting, settled, ref, said } = await setUp();
      const { id } = await create("ask", { arguments: '{"kept":1}', extras: '{"kept":2}' });
      await waiting(id);
      await store.tell(ref(id), { kind: "say", turn: turn("1", "one"), statusMessage: null });
      await store.tell(ref(id), { kind: "answer", answers: { name: accept("Ada") } });
      expect(resultText(await settled(id))).toBe(accept("Ada"));
      expect((await said(id))?.map(({ message }) => message)).toEqual(['{"text":"one"}']);
      expect(await store.read(ref(id), { conversation: true })).toMatchObject({
        conversation: { arguments: '{"kept":1}', extras: '{"kept":2}' },
      });
    });

    it("has push targets only where news are pushed", async () => {
      const { store, create, waiting, ref, clock } = await setUp();
      const target: PushWish = { id: "p", url: "https://example.com/", token: null, authentication: null, wire: "w" };
      const started = { ...target, id: "q", cursor: 9, failures: 0, retryAt: clock() + HOUR, dead: [] };
      const { id } = await create("ask", { push: [started] });
      const { version } = await waiting(id);
      const pushed = async () =>
        (await store.read(ref(id), { conversation: true }))?.conversation?.push.map((p) => p.id);
      const there = store.pushes === true;
      expect((await store.tell(ref(id), { kind: "push", target }))?.changed).toBe(there);
      expect(await pushed()).toEqual(there ? ["q", "p"] : []);
      expect((await store.tell(ref(id), { kind: "unpush", id: "q" }))?.changed).toBe(there);
      expect(await pushed()).toEqual(there ? ["p"] : []);
      expect((await store.read(ref(id)))?.version).toBe(version);
    });
  });

  describe("arguments that were left out", () => {
    it.each([
      ["an answer", {}],
      ["a message", { turn: turn("1", "Ulm") }],
    ])("are asked for at once, laid over those that were given by %s, and then the tool runs", async (_, by) => {
      const { store, create, settled, ref, clock } = await setUp();
      const args = JSON.stringify({ days: 3, city: "?", text: ODD });
      const made = await create("arguments", { arguments: args, missing: missing(clock() + HOUR) });
      expect(made).toMatchObject({
        version: 1,
        statusMessage: "Which city?",
        stage: { phase: "input_required" },
        openQuestions: [{ key: ARGUMENTS_KEY }],
      });
      const answer = (key: string, city: unknown, turned: { readonly turn?: Said } = {}) => {
        const answers = { [key]: JSON.stringify({ action: "accept", content: { city } }) };
        return store.tell(ref(made.id), { kind: "answer", answers, ...turned });
      };
      const again = `${ARGUMENTS_KEY}-2`;
      expect(await answer(ARGUMENTS_KEY, 5)).toMatchObject({ task: { openQuestions: [{ key: again }] } });
      expect(await answer(again, "Ulm", by)).toMatchObject({ changed: true, task: { openQuestions: [] } });
      const merged = { days: 3, city: "Ulm", text: ODD };
      expect(JSON.parse(resultText(await settled(made.id)))).toEqual(merged);
      const read = await store.read(ref(made.id), { conversation: true });
      expect(JSON.parse(read?.conversation?.arguments ?? "")).toEqual(merged);
    });

    it.each(["decline", "cancel"])("and are not given (%s) reject the task", async (action) => {
      const { store, create, ref, clock } = await setUp();
      const { id } = await create("arguments", { missing: missing(clock() + HOUR) });
      const answers = { [ARGUMENTS_KEY]: JSON.stringify({ action }) };
      const told = await store.tell(ref(id), { kind: "answer", answers });
      expect(told).toMatchObject({ task: { stage: { phase: "settled", outcome: { kind: "rejected" } } } });
      expect(await store.read(ref(id))).toEqual(told?.task);
    });

    it("and that nobody gives in time reject the task", async () => {
      const { store, create, settled, advance, clock } = await setUp();
      const { id } = await create("arguments", { missing: missing(clock() + HOUR) });
      advance(2 * HOUR);
      await store.sweep(1_000);
      expect((await settled(id)).stage).toMatchObject({ outcome: { kind: "rejected" } });
    });
  });

  async function setUp() {
    const stage = await setUpStore(makeStore);
    const ref = (id: string) => ({ id, owner: "o" });
    const said = async (id: string) =>
      (await stage.store.read(ref(id), { body: false, conversation: true }))?.conversation?.turns;
    return { ...stage, ref, said };
  }
}
