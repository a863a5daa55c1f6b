import { MemorySessions } from "../../src/service/memory-sessions";
import { MemoryTaskStore, type MemoryParts } from "../../src/service/memory-task-store";
import { noQueues } from "../support/no-queues";
import { registry } from "../stores/tools";
import { limits, movableClock } from "../support/memory";
import { describeSessions } from "./contract";

describeSessions("memory sessions", () => {
  const { now, advance } = movableClock();
  const sessions = new MemorySessions(now);
  const fetch = () => Promise.reject(new Error("The tools of the store tests fetch nothing."));
  const asking: MemoryParts["asking"] = (session, id) => sessions.asking(session, id);
  const store = new MemoryTaskStore({ queues: noQueues, registry, clock: now, limits, fetch, log: () => {}, asking });
  return {
    sessions,
    store,
    now,
    expire: async (session) => {
      advance(session.expiresAt - now());
      // Memory is cleared by whoever looks next.
      await sessions.logLevel(session);
    },
  };
});
