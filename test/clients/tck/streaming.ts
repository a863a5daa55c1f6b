import { expect, it } from "vitest";
import type { Wire } from "../../support/mcp";
import type { Agent, EventStream } from "./agent";
import { answered, answeredOnce, begun, ENDED, said } from "./talk";

/** Streams of a task's events (A2A 1.0 §3.1.2, §3.1.6, §3.5.2). */
export function streaming(agent: Agent): void {
  const told = async (behaviour: string): Promise<Wire[]> =>
    (await agent.stream("SendStreamingMessage", said(behaviour))).rest();

  it("CORE-STREAM-001 opens a stream, and tells what happens while it happens", async () => {
    const stream = await agent.stream("SendStreamingMessage", said("test-resubscribe-message-id"));
    const { task } = await stream.next();
    // The stream goes on while the task is at work: it is no answer that was put off.
    expect((await agent.call("GetTask", { id: task.id })).status.state).not.toMatch(ENDED);
    expect(stateIn((await stream.rest()).at(-1))).toBe("TASK_STATE_COMPLETED");
  });

  it("CORE-STREAM-002 says what comes to a message in one event, and closes", async () => {
    const events = await told("tck-message-response");
    expect(events).toMatchObject([{ message: { parts: [{ text: "Direct message response" }] } }]);
  });

  it.each([
    ["tck-stream-001", "Stream hello from TCK"],
    ["tck-stream-003", "Stream task lifecycle"],
    ["tck-stream-artifact-text", "Streamed text content"],
    ["tck-stream-artifact-chunked", "chunk-1 chunk-2"],
  ])("CORE-STREAM-003 begins with the task of %s and closes when it ends", async (behaviour, text) => {
    const [first, ...updates] = await told(behaviour);
    expect(first.task.id).toMatch(/./);
    expect(updates.every((event) => (event.statusUpdate ?? event.artifactUpdate).taskId === first.task.id)).toBe(true);
    expect(updates.map(stateIn).filter((state) => ENDED.test(state))).toEqual(["TASK_STATE_COMPLETED"]);
    expect(stateIn(updates.at(-1))).toBe("TASK_STATE_COMPLETED");
    // The pieces, put together as they say, are what the task has in the end.
    const pieces = updates.flatMap(({ artifactUpdate }) => (artifactUpdate ? [artifactUpdate] : []));
    expect(pieces.map(({ append = false }) => append)).toEqual(pieces.map((_, index) => index > 0));
    expect(pieces.map(({ lastChunk = false }) => lastChunk)).toEqual(pieces.map((_, at) => at === pieces.length - 1));
    const parts = pieces.flatMap(({ artifact }) => artifact.parts);
    expect(parts.map((part) => part.text).join("")).toBe(text);
    const { artifacts } = await agent.call("GetTask", { id: first.task.id });
    expect(artifacts).toMatchObject([{ artifactId: pieces[0].artifact.artifactId, parts }]);
  });

  it("STREAM-ORDER-001 tells events in the order in which they happened", async () => {
    const order = ["SUBMITTED", "WORKING", "COMPLETED"].map((state) => `TASK_STATE_${state}`);
    const events = await told("tck-stream-ordering-001");
    const ranks = events.map(stateIn).flatMap((state) => (state ? [order.indexOf(state)] : []));
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    const times = events.flatMap(({ task, statusUpdate: update }) => (task ?? update)?.status.timestamp ?? []);
    expect(times).toEqual(times.toSorted());
    // What it came to is told before its end is.
    expect(Object.keys(events.at(-2))).toEqual(["artifactUpdate"]);
  });

  const watched = async (count = 2): Promise<{ parked: Wire; streams: EventStream[]; firsts: Wire[] }> => {
    const parked = await begun(agent, "tck-input-required");
    const subscribed = Array.from({ length: count }, () => agent.stream("SubscribeToTask", { id: parked.id }));
    const streams = await Promise.all(subscribed);
    return { parked, streams, firsts: await Promise.all(streams.map((stream) => stream.next())) };
  };

  it("STREAM-ORDER-002 tells all who watch a task", async () => {
    const { parked, streams } = await watched(3);
    await answered(agent, parked);
    for (const stream of streams) expect(stateIn((await stream.rest()).at(-1))).toBe("TASK_STATE_COMPLETED");
  });

  it("STREAM-ORDER-003 tells all who watch the same, in the same order", async () => {
    const { parked, streams, firsts } = await watched();
    await answeredOnce(agent, parked, "more to come");
    await answered(agent, parked);
    const [one, other] = await Promise.all(streams.map((stream) => stream.rest()));
    expect(firsts[0]).toEqual(firsts[1]);
    expect(one?.length).toBeGreaterThan(2);
    expect(other).toEqual(one);
  });

  it("STREAM-ORDER-004 goes on telling the others when one leaves", async () => {
    const { parked, streams } = await watched();
    const [leaving, staying] = streams;
    leaving?.close();
    await answered(agent, parked);
    const events = await staying?.rest();
    expect(stateIn(events?.at(-1))).toBe("TASK_STATE_COMPLETED");
  });

  it("STREAM-SUB-001 begins with the task as it stands", async () => {
    const { parked, streams, firsts } = await watched(1);
    expect(firsts).toEqual([{ task: parked }]);
    streams[0]?.close();
  });

  it.each(["TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"])("STREAM-SUB-002 closes upon %s", async (state) => {
    const { parked, streams } = await watched(1);
    await (state === "TASK_STATE_CANCELED" ? agent.call("CancelTask", { id: parked.id }) : answered(agent, parked));
    const events = await streams[0]?.rest();
    expect(stateIn(events?.at(-1))).toBe(state);
  });

  it.each(["tck-complete-task", "tck-reject-task"])(
    "STREAM-SUB-003 has nothing to tell of a task that has ended, by %s",
    async (behaviour) => {
      const { id } = await begun(agent, behaviour);
      expect(await agent.ask("SubscribeToTask", { id })).toMatchObject(agent.refused("UNSUPPORTED_OPERATION"));
    },
  );

  it("STREAM-SUB-004 finds no task to watch by an id that it did not give", async () => {
    const answer = await agent.ask("SubscribeToTask", { id: "no-such-task" });
    expect(answer).toMatchObject(agent.refused("TASK_NOT_FOUND"));
  });
}

const stateIn = (event: Wire): string => (event?.task ?? event?.statusUpdate)?.status.state;
