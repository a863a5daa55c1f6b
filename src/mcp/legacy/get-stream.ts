import type { Context } from "hono";
import { INVALID_REQUEST, JsonRpcError } from "../../json-rpc";
import { openStream, respond, type RespondOptions } from "../../respond";
import type { Caller } from "./call";
import { openOutlet, type Outlet } from "./outlet";
import { openResumable } from "./resume";
import { tellTasks } from "./task-news";
import { openVoice } from "./voice";

/** Timers hold no more. */
const MAX_TIMER_MS = 2_147_483_647;

/** Either the session's own stream, or one that broke and is gone on with (2025-11-25 transports §Resumability). */
export async function openGetStream(c: Context, caller: Caller, explain: RespondOptions["explain"]): Promise<Response> {
  const { resume } = caller.revision;
  const lastEventId = c.req.header("last-event-id") ?? null;
  const broken = lastEventId === null ? null : await openResumable(caller, lastEventId);
  if (broken && resume) {
    // What stops a client that was answered with an error, takes that for no answer, and comes back for one.
    if (broken.ended)
      throw new JsonRpcError(405, INVALID_REQUEST, "This stream has ended.", { headers: { Allow: "GET, POST" } });
    const conversation = { ...resume(caller, broken.resumable), stream: "at_once" } as const;
    const accepts = { json: false, eventStream: true };
    return respond(c, broken.resumable.request, async () => conversation, { accepts, explain });
  }
  return openStream(
    c,
    async (exchange) => {
      const ending = new AbortController();
      const signal = AbortSignal.any([exchange.signal, ending.signal]);
      const left = (): number => caller.session.expiresAt - caller.deps.clock();
      const tick = (): void => {
        if (left() <= 0) ending.abort();
        else timer = setTimeout(tick, Math.min(left(), MAX_TIMER_MS));
      };
      let timer: ReturnType<typeof setTimeout> | null = null;
      tick();
      try {
        await caller.deps.tasks.occupy(caller.principal, signal);
        const voice = openVoice(caller, signal);
        // The client hears of this stream when the others are silent.
        await voice.speaks();
        const own = await openOutlet(caller, exchange, lastEventId);
        const outlet: Outlet = {
          tell: async (method, params) => ((await voice.speaks()) ? own.tell(method, params) : undefined),
        };
        const news = [
          voice.listening,
          tellTasks(caller, exchange, outlet, signal),
          tellToolList(caller, outlet, signal),
        ];
        const gone = over(signal);
        await Promise.race([gone, Promise.all([...news, gone])]);
      } finally {
        if (timer !== null) clearTimeout(timer);
        // One source may have failed while another still runs.
        ending.abort();
      }
    },
    // No stream is no answer: 200 would have a client take the error for one.
    (thrown) => {
      const { status, code, message, extras } = explain(thrown);
      return new JsonRpcError(status < 400 ? 429 : status, code, message, extras);
    },
  );
}

async function tellToolList({ deps }: Caller, outlet: Outlet, signal: AbortSignal): Promise<void> {
  for await (const news of deps.tools.changes(signal)) {
    if (signal.aborted) return;
    if (news === "changed") await outlet.tell("notifications/tools/list_changed", {});
  }
}

const over = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
