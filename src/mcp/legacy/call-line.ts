import { Withdrawn, type Exchange } from "../../json-rpc";
import { aborted } from "../../service/suspension";
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

/** What a call that is no task hears of its client while it goes on: answers, and that it is not wanted any more. */
export class CallLine {
  readonly #call: Call;
  readonly #exchange: Exchange;
  readonly #name = randomName(12);
  readonly #withdrawn = new AbortController();
  readonly #over = new AbortController();
  readonly #waiting = new Map<string, (answer: JsonText) => void>();
  readonly #timer: ReturnType<typeof setTimeout>;
  /** People may take this long together, over all rounds; then what is open counts as answered with `cancel`. */
  readonly #patience: number;
  #attached: Promise<void> | undefined;

  constructor(call: Call, exchange: Exchange) {
    this.#call = call;
    this.#exchange = exchange;
    this.#patience = Date.now() + call.deps.config.limits.timeoutMs;
    this.#timer = setTimeout(() => void this.#attach().catch(() => {}), ATTACH_AFTER_MS);
  }

  /** Aborts on `notifications/cancelled`. That the client left is no such wish (2025-11-25 transports §Sending Messages). */
  get signal(): AbortSignal {
    return this.#withdrawn.signal;
  }

  /** Runs it, and again with the answers, until it asks no more. */
  async through<T extends { readonly kind: string }>(
    run: (answers: Readonly<Answers>) => Promise<T | Asks>,
  ): Promise<Exclude<T, Asks>> {
    const answers = Object.create(null) as Answers;
    for (let refused = 0; ;) {
      const outcome = await run(answers).catch((thrown: unknown) => {
        throw this.signal.aborted ? new Withdrawn() : thrown;
      });
      if (outcome.kind !== "input_required") return outcome as Exclude<T, Asks>;
      const { questions } = outcome as Asks;
      // A program that answers wrongly will do so for ever.
      if (questions.some(({ key }) => key in answers)) refused += 1;
      const given = refused > MAX_REFUSALS ? questions.map(({ key }) => [key, CANCEL] as const) : null;
      Object.assign(answers, given ? Object.fromEntries(given) : await this.#ask(questions));
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }

  async #ask(questions: readonly OpenQuestion[]): Promise<Answers> {
    if (!this.#exchange.streams) throw notAskable();
    await this.#attach();
    const answers = Object.create(null) as Answers;
    const answered = questions.map(async ({ key }) => {
      answers[key] = await new Promise<JsonText>((resolve) => this.#waiting.set(key, resolve));
    });
    // Another round may ask under the same keys.
    if (!asker(this.#call, this.#exchange, { call: this.#name })(questions)) throw notAskable();
    const late = setTimeout(() => {
      for (const answer of this.#waiting.values()) answer(CANCEL);
    }, this.#patience - Date.now());
    const nobody = aborted(AbortSignal.any([this.signal, this.#exchange.signal]));
    try {
      await Promise.race([Promise.all(answered), nobody.promise]);
    } finally {
      nobody.release();
      clearTimeout(late);
      this.#waiting.clear();
    }
    return answers;
  }

  /** Resolves when no answer can be missed any more. */
  #attach(): Promise<void> {
    this.#attached ??= new Promise((resolve, reject) => void this.#listen(resolve).catch(reject));
    return this.#attached;
  }

  async #listen(ready: () => void): Promise<void> {
    const { deps, session, id } = this.#call;
    const role = { kind: "call", call: this.#name, requestId: id } as const;
    for await (const message of deps.sessions.attach(session, role, this.#over.signal)) {
      if (message.kind === "ready") ready();
      else if (message.kind === "answer") this.#waiting.get(message.key)?.(message.answer);
      else if (message.kind === "cancelled") this.#withdrawn.abort(new Withdrawn());
    }
  }
}

const notAskable = (): TaskError =>
  new TaskError(
    "capability_missing",
    "The tool asks the client, which needs its capability for that, and an Accept header that allows text/event-stream.",
  );
