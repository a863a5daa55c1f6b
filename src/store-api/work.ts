import { membersOf } from "../record/members";
import type { HeldWork, Work, WorkAnswer, WorkState } from "../service/work-service";
import { slowAnswer } from "../slow-answer";
import type { JsonText } from "../task/json";
import { ok, toResponse, type Answer } from "./answer";
import type { Operation, StoreContext, StoreDeps } from "./deps";
import { errorAnswer, explainThrown } from "./errors";
import { given } from "./given";
import { memberOf } from "./posted-record";
import { listText, withMembers } from "./record-text";
import {
  ClaimBody,
  CompleteBody,
  FailBody,
  HeartbeatBody,
  NoQuery,
  ProgressBody,
  read,
  readAsk,
  readQuery,
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
      readQuery(NoQuery, c.req.queries());
      return toResponse(answer(await tell(c, c.req.param("task") ?? "")));
    },
  });

  return [
    {
      method: "POST",
      path: "/queues/:queue/claims",
      opens: "workers",
      hasBody: true,
      serve: async (c) => {
        readQuery(NoQuery, c.req.queries());
        const { principal, posted } = c.var;
        const wish = given(read(ClaimBody, posted.value, "body"));
        const claim = async (signal: AbortSignal): Promise<Response> => {
          const claims = await work.claim(principal, c.req.param("queue") ?? "", wish, signal);
          return toResponse(ok(`{"claims":${listText(claims.map(workText))}}`));
        };
        const onLate = (thrown: unknown): void => void explainThrown(thrown, log, principal);
        return slowAnswer(claim, { signal: c.req.raw.signal, onLate });
      },
    },
    onTask(
      "heartbeat",
      (c, task) => work.heartbeat(task, given(read(HeartbeatBody, c.var.posted.value, "body"))),
      // To be told to stop is what a heartbeat is for.
      (told) => (told.kind === "cancelled" ? ok(stateText(told.kind, told.state)) : toAnswer(told)),
    ),
    onTask("progress", (c, task) => {
      const { progress, ...told } = read(ProgressBody, c.var.posted.value, "body");
      return work.progress(task, { ...given(told), progress: given(progress) });
    }),
    onTask("ask", (c, task) => work.ask(task, given(readAsk(c.var.posted.value)))),
    onTask("complete", (c, task) => {
      const { lease } = read(CompleteBody, c.var.posted.value, "body");
      return work.complete(task, { lease, result: memberOf(c, "result") });
    }),
    onTask("fail", (c, task) => {
      const { lease, error, retry } = read(FailBody, c.var.posted.value, "body");
      const { data: _, ...facts } = error;
      const data = membersOf(memberOf(c, "error")).get("data");
      return work.fail(task, {
        lease,
        error: { ...given(facts), ...(data === undefined ? {} : { data }) },
        ...given({ retry }),
      });
    }),
    onTask("release", (c, task) => work.release(task, read(ReleaseBody, c.var.posted.value, "body"))),
  ];
}

/** `kind` says it in every answer, errors too. */
function toAnswer(told: WorkAnswer): Answer {
  switch (told.kind) {
    case "held":
      return ok(heldText({ kind: told.kind }, told.work));
    case "settled":
    case "returned":
      return ok(stateText(told.kind, told.state));
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
): Answer => errorAnswer(409, code, message, { beside: stateText(kind, state).slice(1, -1) });

const stateText = (kind: WorkAnswer["kind"], state: WorkState): JsonText => JSON.stringify({ kind, state });

function workText({ taskId, lease, leaseUntil, answers, openQuestions, arguments: args, ...facts }: Work): JsonText {
  const held = { taskId, lease, leaseUntil, answers, openQuestions };
  return withMembers({ ...facts }, [`"arguments":${args}`, heldText({}, held).slice(1, -1)]);
}

const heldText = (before: object, { answers, ...facts }: HeldWork): JsonText =>
  withMembers({ ...before, ...facts }, [`"answers":${objectText(answers)}`]);

const objectText = (values: Readonly<Record<string, JsonText>>): JsonText =>
  `{${Object.entries(values)
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
    .join(",")}}`;
