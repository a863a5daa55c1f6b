import type { PushTarget } from "../task/task";
import { ToolError } from "../tool/define-tool";
import { backOff } from "./back-off";
import type { Letter } from "./push-letter";
import type { SafeFetch } from "./safe-fetch";
import { withTimeout } from "./with-timeout";

export const ATTEMPT_TIMEOUT_MS = 15_000;

/** With the pauses between them that is most of an hour. */
export const MAX_PUSH_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 900_000;

/** Why a letter did not arrive, in words for whoever set the target. None of them tells its address, which may be secret. */
export type Setback = {
  readonly reason: string;
  /** Another attempt would fail in the same way. */
  readonly isFinal: boolean;
  /** What the receiver asked for, ms; 0 when it asked for nothing. */
  readonly waitMs: number;
};

const setback = (reason: string, isFinal = false, waitMs = 0): Setback => ({ reason, isFinal, waitMs });

/** One attempt; null: it has arrived. Never rejects. */
export async function deliver(
  letter: Letter,
  target: PushTarget,
  post: SafeFetch,
  signal: AbortSignal,
): Promise<Setback | null> {
  const headers = headersOf(letter, target);
  if (!headers) return setback("The token or the credentials hold characters that no header may have.", true);
  const late = new AbortController();
  const init = {
    method: "POST",
    headers,
    body: letter.body,
    // A redirect would lead the news to somebody whom nobody named.
    redirect: "manual",
    signal: AbortSignal.any([signal, late.signal]),
  } as const;
  const sent = (async () => setbackOf(await post(target.url, init)))().catch(setbackFrom);
  const seconds = ATTEMPT_TIMEOUT_MS / 1000;
  return withTimeout(sent, ATTEMPT_TIMEOUT_MS, `The receiver did not answer within ${seconds} seconds.`)
    .catch(({ message }: Error) => setback(message))
    .finally(() => late.abort());
}

/** ms to wait after so many failures before the next attempt. */
export const pushPause = (failures: number, random: () => number): number =>
  backOff(FIRST_PAUSE_MS * 3 ** (failures - 1), LONGEST_PAUSE_MS, random);

/** All that a header may hold, whatever the door that took these values has checked. */
const WRITABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

function headersOf({ contentType, headers: more }: Letter, { token, authentication }: PushTarget): Headers | null {
  const { scheme, credentials } = authentication ?? {};
  const own = {
    ...(token ? { "X-A2A-Notification-Token": token } : {}),
    ...(credentials ? { Authorization: `${scheme} ${credentials}` } : {}),
  };
  if (!Object.values(own).every((value) => WRITABLE.test(value))) return null;
  const headers = new Headers(more);
  for (const [name, value] of Object.entries({ "Content-Type": contentType, ...own })) headers.set(name, value);
  return headers;
}

function setbackOf({ ok, status, headers, body }: Response): Setback | null {
  // Unread: what it says is of no use, and could be endless.
  void body?.cancel().catch(() => {});
  if (ok) return null;
  const [seconds] = /^\d{1,9}$/.exec(headers.get("retry-after") ?? "") ?? ["0"];
  return setback(
    `The receiver answered with status ${status}.`,
    false,
    Math.min(LONGEST_PAUSE_MS, Number(seconds) * 1000),
  );
}

/** What is thrown by the network may tell more than anybody should read; a refusal of ours is worded for callers. */
const setbackFrom = (error: unknown): Setback =>
  error instanceof ToolError ? setback(error.message, true) : setback("The receiver could not be reached.");
