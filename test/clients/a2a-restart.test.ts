// Tasks of A2A, the server killed in the middle of them and started again, and what their clients see of that.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";
import { inOrder, openHook, type Hook } from "./a2a-hook";
import { a2aWire, heardIn, newsOf, saidBy, skill, stateOf, textOf, type A2aWire, type Tongue } from "./a2a-wire";

let server: DevServer;
let hook: Hook;

/** What there was when the server died. */
type Life = {
  readonly wire: A2aWire;
  /** Two questions, of which one is answered. */
  readonly asking: Wire;
  /** At work. */
  readonly running: string;
  /** Asks; of that its receiver was to hear, and has not heard. */
  readonly owing: string;
};

const TONGUES: readonly Tongue[] = ["1.0", "mixed"];
const lives = new Map<Tongue, Life>();
/** Of the tasks at work, from the restart on. */
const streams = new Map<Tongue, Promise<readonly Wire[]>>();
const answerTo = (key: string, v: string) => ({ [key]: { action: "accept", content: { v } } });
/** Starting the server is what takes the time, on a busy machine more than all of the rest. */
const SLOW = { timeout: 120_000 };

async function live(tongue: Tongue): Promise<Life> {
  const wire = a2aWire(server, tongue);
  const more = { contextId: `c-${tongue}` };
  const { id } = await wire.send({ content: skill("ask", { keys: ["k1", "k2"] }), more }, { wait: true });
  const asking = await wire.send(
    { content: { inputResponses: answerTo("k1", "one") }, taskId: id, more },
    { wait: true },
  );
  const config = { id: "mine", url: hook.at(tongue), token: "a-token" };
  const configuration = tongue === "1.0" ? { taskPushNotificationConfig: config } : { pushNotificationConfig: config };
  const owing = await wire.begin("ask", { keys: ["k"] }, { wait: true, configuration });
  const running = await wire.begin("slow", { ms: 12_000, text: `survived ${tongue}` });
  const ready = () => server.output().includes(`slow began: survived ${tongue}`) && hook.posts(tongue).length > 0;
  await vi.waitUntil(ready, { timeout: 55_000, interval: 50 });
  return { wire, asking, running: running.id, owing: owing.id };
}

beforeAll(async () => {
  hook = await openHook();
  // One receiver keeps the server waiting until it dies; the other sends it away again and again.
  hook.answer("1.0", "silence");
  hook.answer("mixed", 503);
  server = await startDevServer({
    env: "owners",
    vars: { ALLOW_LOCAL_FETCH: "true", TASK_POLL_INTERVAL_MS: "250" },
  });
  for (const tongue of TONGUES) lives.set(tongue, await live(tongue));
  await server.kill();
  for (const tongue of TONGUES) hook.answer(tongue, 204);
  await server.restart();
  for (const [tongue, { wire, running }] of lives) {
    streams.set(tongue, wire.follow("SubscribeToTask", { id: running }));
  }
}, 240_000);

afterAll(async () => {
  await server.stop();
  await hook.stop();
});

describe.each(TONGUES)("after kill -9 and a restart, to who speaks %s,", (tongue) => {
  const life = (): Life => lives.get(tongue) as Life;

  it("a task at work shows itself first, is worked at again, and ends on the stream", SLOW, async () => {
    const { wire, running } = life();
    const events = (await streams.get(tongue)) ?? [];
    expect(newsOf(events[0])).toBe("task working");
    expect((events[0].task ?? events[0]).id).toBe(running);
    expect(events.slice(-2).map(newsOf)).toEqual(["artifact", "completed"]);
    expect(textOf(await wire.get(running))).toBe(`survived ${tongue}`);
    expect(server.output()).toContain(`slow began: survived ${tongue}`);
  });

  it("a task that asks stands as it did: its context, its question, what was said (T7)", async () => {
    const { wire, asking } = life();
    expect(stateOf(asking)).toBe("input-required");
    expect(saidBy(asking)).toBe("What is k2?");
    expect(asking.contextId).toBe(`c-${tongue}`);
    expect(heardIn(asking)).toEqual([
      `user: ${JSON.stringify(skill("ask", { keys: ["k1", "k2"] }))}`,
      "agent: What is k1?\n\nWhat is k2?",
      `user: ${JSON.stringify({ inputResponses: answerTo("k1", "one") })}`,
    ]);
    expect(await wire.get(asking.id)).toEqual(asking);
  });

  it("a follow-up goes on with it, and what was answered before counts (T12)", async () => {
    const { wire, asking } = life();
    const other = a2aWire(server, tongue, "owner-b");
    await expect(other.send({ content: "two", taskId: asking.id })).rejects.toThrow("-32001");
    const done = await wire.send({ content: "two", taskId: asking.id }, { wait: true });
    expect(done).toMatchObject({ id: asking.id, contextId: asking.contextId });
    expect(stateOf(done)).toBe("completed");
    expect(JSON.parse(textOf(done))).toEqual({ ...answerTo("k1", "one"), ...answerTo("k2", "two") });
    expect(heardIn(done)).toEqual([...heardIn(asking), "user: two"]);
    await expect(wire.send({ content: "three", taskId: asking.id })).rejects.toThrow("-32004");
  });

  it("news that were owed arrive, each at least once and in order", SLOW, async () => {
    const { wire, owing } = life();
    await hook.until(tongue, (posts) => posts.some(({ body }) => newsOf(body) === "input-required"));
    await wire.send({ content: "blue", taskId: owing }, { wait: true });
    const posts = await hook.until(tongue, (all) => newsOf(all.at(-1)?.body) === "completed");
    expect(inOrder(posts)).toEqual(["task submitted", "working", "input-required", "working", "artifact", "completed"]);
    // The first was on its way when the server died.
    expect(posts.length).toBeGreaterThan(inOrder(posts).length);
    for (const { headers, body } of posts) {
      expect(headers["x-a2a-notification-token"]).toBe("a-token");
      expect(Object.hasOwn(body, "kind")).toBe(tongue === "mixed");
    }
  });
});
