import type { PushEvent } from "./event";
import type { PushTarget, PushWish, Task } from "./task";

/** So many places may be told of one task. */
export const MAX_PUSH_TARGETS = 10;

/** So many of the news that were given up are remembered per place: the newest. */
const MAX_DEAD_LETTERS = 20;
const MAX_REASON_LENGTH = 300;

/** The task with what became of its push targets; the same reference when that is nothing. */
export function pushed(task: Task, event: PushEvent): Task {
  switch (event.type) {
    case "push_set": {
      const { target } = event;
      const known = task.push.find(({ id }) => id === target.id);
      if (!known && task.push.length >= MAX_PUSH_TARGETS) return task;
      const set: PushTarget = { cursor: task.version, dead: [], ...known, ...target, failures: 0, retryAt: null };
      if (known?.failures === 0 && isSame(known, set)) return task;
      return { ...task, push: known ? task.push.map((one) => (one === known ? set : one)) : [...task.push, set] };
    }
    case "push_removed": {
      const push = task.push.filter(({ id }) => id !== event.id);
      return push.length === task.push.length ? task : { ...task, push };
    }
    case "pushed":
      return changed(task, event, (_, seq) => ({ cursor: seq, failures: 0, retryAt: null }));
    case "push_failed": {
      const { at, retryAt } = event;
      return changed(task, event, ({ failures, retryAt: known, dead }, seq) => {
        // Of the same failure, told again.
        if (retryAt !== null) return retryAt === known ? null : { failures: failures + 1, retryAt };
        const letter = { seq, at, reason: event.reason.slice(0, MAX_REASON_LENGTH) };
        return { cursor: seq, failures: 0, retryAt: null, dead: [...dead, letter].slice(-MAX_DEAD_LETTERS) };
      });
    }
  }
}

/** What comes after the target was told, or gave up, means nothing; and nobody was told what has not happened. */
function changed(
  task: Task,
  event: { readonly id: string; readonly seq: number },
  change: (target: PushTarget, seq: number) => Partial<PushTarget> | null,
): Task {
  const seq = Math.min(event.seq, task.version);
  const known = task.push.find(({ id, cursor }) => id === event.id && cursor < seq);
  const next = known && change(known, seq);
  return next ? { ...task, push: task.push.map((one) => (one === known ? { ...one, ...next } : one)) } : task;
}

/** Whether the same is told to the same, in the same way. */
export const isSame = (a: PushWish, b: PushWish): boolean =>
  a.url === b.url &&
  a.token === b.token &&
  a.wire === b.wire &&
  a.authentication?.scheme === b.authentication?.scheme &&
  a.authentication?.credentials === b.authentication?.credentials;
