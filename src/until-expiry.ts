import type { Clock } from "./clock";
import type { Principal } from "./service/principal";

/** Streams that can end in good order do so at the instant itself. */
const GRACE_MS = 1_000;
/** What a timer can hold: 24 days. No stream lasts so long. */
const LONGEST_MS = 2 ** 31 - 1;

/** No stream outlives the credential with which it was opened: its body ends then, as if the client had left. */
export function untilExpiry(response: Response, principal: Principal, clock: Clock): Response {
  const expiresAt = principal.kind === "identified" ? principal.expiresAt : null;
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (expiresAt === null || !isStream || response.body === null) return response;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const leftMs = Math.min(expiresAt + GRACE_MS - clock(), LONGEST_MS);
  // Whoever reads then finds the end.
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), leftMs);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      clearTimeout(timer);
      controller.close();
    },
    cancel(reason) {
      clearTimeout(timer);
      return reader.cancel(reason);
    },
  });
  return new Response(body, response);
}
