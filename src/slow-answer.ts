/** How long an answer may take before its headers go out, so that the client sees that something happens. */
const GRACE_MS = 250;

/**
 * Workers learn that a client has left only when they write to it (measured in workerd, with `enable_request_signal`),
 * and who waits in vain may take work with it. So something is written: space, which JSON may begin with.
 */
const BEAT_MS = 1_000;

export type SlowOptions = {
  /** When the client leaves before the answer has begun. */
  readonly signal: AbortSignal;
  /** What became of it after the answer had begun. */
  readonly onLate: (thrown: unknown) => void;
  /** Some kind of JSON. */
  readonly contentType?: string;
};

/**
 * Waits with the client, and stops when it leaves. An answer that took long is always a 200: a failure by then breaks
 * the connection off, and whoever asks again is told.
 */
export async function slowAnswer(
  work: (signal: AbortSignal) => Promise<Response>,
  { signal, onLate, contentType = "application/json" }: SlowOptions,
): Promise<Response> {
  const gone = new AbortController();
  const leave = (): void => gone.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  const working = work(gone.signal).finally(() => signal.removeEventListener("abort", leave));
  let grace: ReturnType<typeof setTimeout>;
  const slow = new Promise<null>((resolve) => {
    grace = setTimeout(() => resolve(null), GRACE_MS);
  });
  const quick = await Promise.race([working, slow]).finally(() => clearTimeout(grace));
  if (quick !== null) return quick;
  return new Response(spaced(working, gone, onLate), {
    // Compression, or a proxy's buffer, would hold the beat back.
    headers: { "Content-Type": contentType, "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" },
  });
}

/** Space until the answer is there. */
function spaced(
  working: Promise<Response>,
  gone: AbortController,
  onLate: SlowOptions["onLate"],
): ReadableStream<Uint8Array> {
  let beat: ReturnType<typeof setInterval>;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const space = (): void => controller.enqueue(new Uint8Array([0x0a]));
      space();
      beat = setInterval(space, BEAT_MS);
      const end = async (): Promise<void> => {
        try {
          const answer = await working;
          if (answer.status !== 200) throw new Error("It came to something else, and the status is out.");
          const body = new Uint8Array(await answer.arrayBuffer());
          if (!gone.signal.aborted) controller.enqueue(body);
          controller.close();
        } catch (thrown) {
          // Nobody is there to be told, and the stream may be closed already.
          if (gone.signal.aborted) return;
          onLate(thrown);
          controller.error(new Error("The answer was broken off."));
        } finally {
          clearInterval(beat);
        }
      };
      void end();
    },
    cancel() {
      clearInterval(beat);
      gone.abort();
    },
  });
}
