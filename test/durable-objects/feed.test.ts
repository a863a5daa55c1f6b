import { describe, expect, it, vi } from "vitest";
import { ownerFeed, taskFeed, type Attached } from "../../durable-objects/feed";
import type { OwnerFeedMessage, TaskFeedMessage, TaskSnapshot } from "../../src/service/task-store";
import { toSnapshot } from "../../src/service/snapshot";
import { createTask } from "../../src/task/transition";
import { draft } from "../support/task";

const snapshot = (version: number): TaskFeedMessage => ({
  kind: "snapshot",
  task: { ...toSnapshot(createTask(draft()).task), version } as TaskSnapshot,
});
const event = (seq: number): TaskFeedMessage => ({
  kind: "event",
  entry: { seq, at: seq, event: "stepped", phase: "working", statusMessage: null },
});
const GONE: TaskFeedMessage = { kind: "gone" };

/** A socket that says this and then is over, or lost. */
function socket<M>(
  messages: readonly M[],
  end: "ended" | "lost" | "open" = "lost",
  signal?: AbortSignal,
): Attached<M> & { released: () => boolean } {
  let released = false;
  const all = (async function* () {
    yield* messages;
    if (end === "open" && signal?.aborted === false)
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
  })();
  return {
    messages: all,
    ended: () => end === "ended",
    release: () => void (released = true),
    released: () => released,
  };
}

const brief = (message: TaskFeedMessage): string =>
  message.kind === "snapshot"
    ? `v${message.task.version}`
    : message.kind === "event"
      ? String(message.entry.seq)
      : "gone";

async function heard(
  first: Attached<TaskFeedMessage>,
  next: readonly (Attached<TaskFeedMessage> | null | Error)[],
  after?: number,
) {
  const rest = [...next];
  const cursors: number[] = [];
  const reattach = async (cursor: number) => {
    cursors.push(cursor);
    const one = rest.shift();
    if (one instanceof Error) throw one;
    return one ?? null;
  };
  const messages: string[] = [];
  for await (const message of taskFeed(first, reattach, after, new AbortController().signal))
    messages.push(brief(message));
  return { messages, cursors };
}

describe("a task's feed", () => {
  it("ends when its object says so", async () => {
    expect(await heard(socket([snapshot(2), event(3)], "ended"), [])).toEqual({ messages: ["v2", "3"], cursors: [] });
  });

  it("goes on after a loss from the last event, with a new snapshot", async () => {
    const second = socket([snapshot(6), event(4), event(5), event(6), event(7)], "ended");
    expect(await heard(socket([snapshot(2), event(3)]), [second])).toEqual({
      messages: ["v2", "3", "v6", "4", "5", "6", "7"],
      cursors: [3],
    });
  });

  it("goes on from its own cursor when nothing came before the loss", async () => {
    expect(await heard(socket([snapshot(5)]), [socket([snapshot(5), event(2), event(3)], "ended")], 1)).toMatchObject({
      messages: ["v5", "v5", "2", "3"],
      cursors: [1],
    });
    expect(await heard(socket([snapshot(5)]), [socket([snapshot(6), event(6)], "ended")])).toMatchObject({
      messages: ["v5", "v6", "6"],
      cursors: [5],
    });
  });

  it("says nothing twice, and nothing older after something newer", async () => {
    const stale = socket([snapshot(3), event(3), event(4)]);
    const fresh = socket([snapshot(9), event(5)], "ended");
    expect((await heard(socket([snapshot(2), event(3), event(4)]), [stale, fresh])).messages).toEqual([
      "v2",
      "3",
      "4",
      "v9",
      "5",
    ]);
  });

  it("tries again when attaching fails", async () => {
    const { messages } = await heard(socket([snapshot(1)]), [
      new Error("reset"),
      new Error("reset"),
      socket([snapshot(1), event(2)], "ended"),
    ]);
    expect(messages).toEqual(["v1", "v1", "2"]);
  });

  it("is gone when there is nothing to attach to any more, and after gone there is nothing", async () => {
    expect((await heard(socket([snapshot(1)]), [null])).messages).toEqual(["v1", "gone"]);
    expect((await heard(socket([snapshot(1), GONE, event(2)]), [])).messages).toEqual(["v1", "gone"]);
  });

  it("ends when the signal aborts, also while it waits to attach again", async () => {
    const leaving = new AbortController();
    const reattach = vi.fn(async () => {
      leaving.abort();
      throw new Error("reset");
    });
    const messages: string[] = [];
    for await (const message of taskFeed(socket([snapshot(1)]), reattach, undefined, leaving.signal))
      messages.push(brief(message));
    expect(messages).toEqual(["v1"]);
    expect(reattach).toHaveBeenCalledTimes(1);
  });

  it("lets go of its socket when the reader stops early, and of each one that was lost", async () => {
    const [first, second] = [socket([snapshot(1)]), socket([snapshot(1), event(2), event(3)], "ended")];
    for await (const message of taskFeed(first, async () => second, undefined, new AbortController().signal))
      if (message.kind === "event") break;
    expect([first.released(), second.released()]).toEqual([true, true]);
  });
});

describe("an owner's feed", () => {
  it("attaches again after every loss and passes on each ready, until the signal aborts", async () => {
    const leaving = new AbortController();
    const ready: OwnerFeedMessage = { kind: "ready" };
    const sockets = [socket([ready]), null, socket([ready], "lost"), socket([ready], "open", leaving.signal)];
    const messages: OwnerFeedMessage[] = [];
    const open = async () => {
      const next = sockets.shift();
      if (next === null) throw new Error("reset");
      if (!next) throw new Error("no more");
      return next;
    };
    for await (const message of ownerFeed(open, leaving.signal)) if (messages.push(message) === 3) leaving.abort();
    expect(messages).toEqual([ready, ready, ready]);
    expect(sockets).toEqual([]);
  });
});
