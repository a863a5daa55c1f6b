import type { Context } from "hono";
import { INVALID_REQUEST, JsonRpcError } from "../../json-rpc";
import { openStream, respond, type RespondOptions } from "../../respond";
import { whenAborted } from "../../service/when-aborted";
import { telling } from "../telling";
import type { Caller } from "./call";
import { openOutlet, type Outlet } from "./outlet";
import { openResumable } from "./resume";
import { tellTasks } from "./task-news";
import { openVoice } from "./voice";

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
    (exchange) =>
      telling(exchange.signal, { endsAt: caller.session.expiresAt, clock: caller.deps.clock }, async (signal) => {
        await caller.deps.tasks.occupy(caller.principal, signal);
        const voice = openVoice(caller, signal);
        // The client hears of this stream when the others are silent.
        await voice.speaks();
        const own = await openOutlet(caller, exchange, lastEventId);
        const outlet: Outlet = {
          tell: async (method, params) => ((await voice.speaks()) ? own.tell(method, params) : undefined),
        };
        const gone = new Promise<void>((resolve) => void whenAborted(signal, resolve));
        const news = [tellTasks(caller, exchange, outlet, signal), tellToolList(caller, outlet, signal)];
        await Promise.race([gone, Promise.all([voice.listening, ...news, gone])]);
      }),
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
