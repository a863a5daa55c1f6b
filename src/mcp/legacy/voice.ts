import type { Caller } from "./call";
import { randomName } from "./session";

/** No call is named so: their names are random, and longer. */
const STREAMS = "streams";

/** Whether a stream is the one of its session, of those that are open, that tells what all of them could tell. */
export type Voice = {
  /** Resolves once the others know of this stream. */
  speaks(): Promise<boolean>;
  /** Ends with the signal. */
  readonly listening: Promise<void>;
};

/** The newest does: no message goes out on two streams (2025-11-25 transports §Multiple Connections). */
export function openVoice({ deps, session }: Caller, signal: AbortSignal): Voice {
  const { sessions, clock } = deps;
  const name = `${String(clock()).padStart(15, "0")}${randomName(9)}`;
  const tell = (key: string): Promise<unknown> => sessions.answer(session, STREAMS, key, "null");
  let speaks = true;
  const known = Promise.withResolvers<void>();
  const listen = async (): Promise<void> => {
    const role = { kind: "call", call: STREAMS, requestId: name } as const;
    for await (const message of sessions.attach(session, role, signal)) {
      const key = message.kind === "ready" ? "" : message.kind === "answer" ? message.key : name;
      if (key > name) speaks = false;
      // This one begins, or the one that told has left.
      else if (key === "") speaks = true;
      // An older one believes to be the newest.
      if (!speaks || key === name) continue;
      await tell(name);
      known.resolve();
    }
  };
  const listening = listen().finally(() => {
    known.resolve();
    if (speaks) void tell("").catch(() => {});
  });
  // Whoever waits for it hears how it failed; until then nobody need.
  listening.catch(() => {});
  return { listening, speaks: () => known.promise.then(() => speaks) };
}
