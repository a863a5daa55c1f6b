import { Withdrawn, type Exchange } from "../../json-rpc";
import { unlessAborted } from "../../service/suspension";
import type { OpenQuestion } from "../../service/task-store";
import { TaskError } from "../../task/errors";
import type { JsonText } from "../../task/json";
import { MAX_REFUSALS } from "../../task/questions";
import type { Call } from "./call";
import { asker, CANCEL } from "./questions";
import { randomName } from "./session";

/** Most calls are over by then, and need no connection to their session. */
const ATTACH_AFTER_MS = 1_000;

type Answers = Record<string, JsonText>;
type Asks = { readonly kind: "input_required"; readonly questions: readonly OpenQuestion[] };

export type CallLine = ReturnType<typeof openCallLine>;

/** What a call that is no task hears of its client while it goes on: answers, and that it is not wanted any more. */
export function openCallLine(call: Call, exchange: Exchange) {
  const { deps, session, id } = call;
  const name = randomName(12);
  const withdrawn = new AbortController();
  const over = new AbortController();
  const waiting = new Map<string, (answer: JsonText) => void>();
  // People may take this long together, over all rounds; then what is open counts as answered with `cancel`.
  const patience = Date.now() + deps.config.limits.timeoutMs;

  const listen = async (ready: () => void): Promise<void> => {
    const role = { kind: "call", call: name, requestId: id } as const;
    for await (const message of deps.sessions.attach(session, role, over.signal)) {
      if (message.kind === "ready") ready();
      else if (message.kind === "answer") waiting.get(message.key)?.(message.answer);
      else if (message.kind === "cancelled") withdrawn.abort(new Withdrawn());
    }
  };
  let attached: Promise<void> | undefined;
  /** Resolves when no answer can be missed any more. */
  const attach = (): Promise<void> =>
    (attached ??= new Promise((resolve, reject) => void listen(resolve).catch(reject)));
  const timer = setTimeout(() => void attach().catch(() => {}), ATTACH_AFTER_MS);

  const ask = async (questions: readonly OpenQuestion[]): Promise<Answers> => {
    if (!exchange.streams) throw notAskable();
    await attach();
    const answers = Object.create(null) as Answers;
    const answered = questions.map(async ({ key }) => {
      answers[key] = await new Promise<JsonText>((resolve) => waiting.set(key, resolve));
    });
    // Another round may ask under the same keys.
    if (!asker(call, exchange, { call: name })(questions)) throw notAskable();
    const late = setTimeout(() => waiting.forEach((answer) => answer(CANCEL)), patience - Date.now());
    try {
      await unlessAborted(AbortSignal.any([withdrawn.signal, exchange.signal]), Promise.all(answered));
    } finally {
      clearTimeout(late);
      waiting.clear();
    }
    return answers;
  };

  return {
    /** Aborts on `notifications/cancelled`. That the client left is no such wish (2025-11-25 transports §Sending Messages). */
    signal: withdrawn.signal,

    /** Runs it, and again with the answers, until it asks no more. */
    async through<T extends { readonly kind: string }>(
      run: (answers: Readonly<Answers>) => Promise<T | Asks>,
    ): Promise<Exclude<T, Asks>> {
      const answers = Object.create(null) as Answers;
      for (let refused = 0; ;) {
        const outcome = await run(answers).catch((thrown: unknown) => {
          throw withdrawn.signal.aborted ? new Withdrawn() : thrown;
        });
        if (outcome.kind !== "input_required") return outcome as Exclude<T, Asks>;
        const { questions } = outcome as Asks;
        // A program that answers wrongly will do so for ever.
        if (questions.some(({ key }) => key in answers)) refused += 1;
        const given = refused > MAX_REFUSALS ? questions.map(({ key }) => [key, CANCEL] as const) : null;
        Object.assign(answers, given ? Object.fromEntries(given) : await ask(questions));
      }
    },

    close(): void {
      clearTimeout(timer);
      over.abort();
    },
  };
}

const notAskable = (): TaskError =>
  new TaskError(
    "capability_missing",
    "The tool asks the client, which needs its capability for that, and an Accept header that allows text/event-stream.",
  );
