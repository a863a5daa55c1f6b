import { membersOf } from "../record/members";
import type { HeldWork, Work, WorkAnswer, WorkState } from "../service/work-service";
import { slowAnswer } from "../slow-answer";
import type { JsonText } from "../task/json";
import { ok, toResponse, type Answer } from "./answer";
import type { Operation, StoreContext, StoreDeps } from "./deps";
import { errorAnswer, explainThrown } from "./errors";
import { given } from "./given";
import { memberOf } from "./posted-record";
import { listText, objectText } from "./record-text";
import {
  askOf,
  bodyOf,
  ClaimBody,
  CompleteBody,
  FailBody,
  HeartbeatBody,
  NoQuery,
  ProgressBody,
  queryOf,
  ReleaseBody,
} from "./schemas";

const ON_TASK = "/work/:task";

/** What workers elsewhere do: claim tasks from a queue, and report on them under their lease. */
export function workOperations({ work, log }: StoreDeps): readonly Operation[] {
  const onTask = (
    act: string,
    tell: (c: StoreContext, task: string) => Promise<WorkAnswer>,
    answer: (told: WorkAnswer) => Answer = toAnswer,
  ): Operation => ({
    method: "POST",
    path: `${ON_TASK}/${act}`,
    opens: "workers",
    hasBody: true,
    serve: async (c) => {
      queryOf(c, NoQuery);
      return answer(await tell(c, c.req.param("task") ?? ""));
    },
  });

  return [
    {
      method: "POST",
      path: "/queues/:queue/claims",
      opens: "workers",
      hasBody: true,
      serve: async (c) => {
        queryOf(c, NoQuery);
        const { principal } = c.var;
        const wish = { worker: "worker", ...given(bodyOf(c, ClaimBody)) };
        const claim = async (signal: AbortSignal): Promise<Response> => {
          const claims = await work.claim(principal, c.req.param("queue") ?? "", wish, signal);
          return toResponse(ok({}, { claims: listText(claims.map(workText)) }));
        };
        const onLate = (thrown: unknown): void => void explainThrown(thrown, log, principal);
        return slowAnswer(claim, { signal: c.req.raw.signal, onLate });
      },
    },
    onTask(
      "heartbeat",
      (c, task) => work.heartbeat(task, given(bodyOf(c, HeartbeatBody))),
      // To be told to stop is what a heartbeat is for.
      (told) => (told.kind === "cancelled" ? ok(told) : toAnswer(told)),
    ),
    onTask("progress", (c, task) => {
      const { progress, ...told } = bodyOf(c, ProgressBody);
      return work.progress(task, { ...given(told), progress: given(progress) });
    }),
    onTask("ask", (c, task) => work.ask(task, given(askOf(c)))),
    onTask("complete", (c, task) => {
      const { lease } = bodyOf(c, CompleteBody);
      return work.complete(task, { lease, result: memberOf(c, "result") });
    }),
    onTask("fail", (c, task) => {
      const { lease, error, retry } = bodyOf(c, FailBody);
      const { data: _, ...facts } = error;
      const data = membersOf(memberOf(c, "error")).get("data");
      return work.fail(task, {
        lease,
        error: given({ ...facts, data }),
        ...given({ retry }),
      });
    }),
    onTask("release", (c, task) => work.release(task, bodyOf(c, ReleaseBody))),
  ];
}

/** `kind` says it in every answer, errors too. */
function toAnswer(told: WorkAnswer): Answer {
  switch (told.kind) {
    case "held":
      return ok(...heldMembers({ kind: told.kind, ...told.work }));
    case "settled":
    case "returned":
      return ok(told);
    case "cancelled":
      return refusal("cancelled", told, "The task was cancelled while this worker had it; nothing was changed.");
    case "lost":
      return refusal("lease_lost", told, "This lease is not in force; nothing was changed.");
  }
}

const refusal = (
  code: "cancelled" | "lease_lost",
  { kind, state }: Extract<WorkAnswer, { state: WorkState }>,
  message: string,
): Answer => errorAnswer(409, code, message, { beside: { kind: JSON.stringify(kind), state: JSON.stringify(state) } });

const workText = ({ arguments: args, ...work }: Work): JsonText => {
  const [facts, texts] = heldMembers(work);
  return objectText(facts, { arguments: args, ...texts });
};

const heldMembers = <H extends Pick<HeldWork, "answers">>({ answers, ...facts }: H) =>
  [facts, { answers: objectText({}, answers) }] as const;
