// Clients that never heard of tasks: their calls are held open, and what outlives that is for their models to look after.
import type { Errand } from "../../../test/fixtures/tools/crash.ts";
import type { Acknowledged, Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Server } from "../server.ts";
import type { Answered, Fields, Message, Reply } from "../wire.ts";
import type { Door } from "./door.ts";
import { anyAnswer, anyErrand, outcomeIn, reportIn } from "./errands.ts";
import { forEach } from "./for-each.ts";
import { HANDLE, heldTask } from "./held-call.ts";
import { isAtCap, isCancelledCall, refusal } from "./refusals.ts";
import { answering, Sessions, type Session } from "./session.ts";
import { CANCELLED } from "./sights.ts";
import { Waits } from "./waits.ts";

const KEY = "dev.holdfast/idempotencyKey";
/** What a model reads of a task that is not there. */
const NOT_FOUND = "No such task";
const VERSIONS = ["2025-06-18", "2025-03-26"] as const;

/** What a helper tool says of the task behind a call. */
type Handle = { readonly taskId: string; readonly status: string };

export class McpLegacy implements Door {
  readonly name = "bridge";
  readonly weight = 3;
  readonly #server: Server;
  readonly #sessions: Sessions;
  readonly #waits = new Waits("A client without tasks", 6);

  constructor(server: Server) {
    this.#server = server;
    this.#sessions = new Sessions(server, { elicitation: {} });
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const session = await this.#sessions.any(random, VERSIONS);
    const tasks = journal.live(session.owner);
    const what = random.next();
    if (what < 0.4 || tasks.length === 0) return this.#call(session, random, journal);
    const task = random.of(tasks);
    if (what < 0.6) return void (await this.#look(session, task, { waitMs: random.below(300) }, journal));
    if (what < 0.75) return this.#answer(session, random, journal);
    if (what < 0.8) return void (await session.request("tools/call", { name: "task_list", arguments: {} }));
    if (what < 0.84) return this.#cancel(session, task, journal);
    this.#waits.begin(`the result of ${task.id}`, journal, async () => {
      for (;;) {
        const seen = await this.#look(session, task, {}, journal);
        if (seen !== "working") return seen === "ended";
      }
    });
  }

  async verify(journal: Journal): Promise<void> {
    await this.#waits.answered(journal);
    await forEach(journal.tasks.values(), async (task) => {
      for (const version of VERSIONS) {
        const session = await this.#sessions.of(task.owner, version);
        await this.#look(session, task, { waitMs: 0 }, journal);
      }
    });
  }

  /** A call with a key, made until it has a result or a task. */
  async #call(session: Session, random: Random, journal: Journal): Promise<void> {
    const errand = anyErrand(random, journal);
    const params = { name: "errand", arguments: errand, _meta: { [KEY]: `key-of-${errand.note}` } };
    // Whose answers these are is known only once the task is.
    const sent: (readonly [key: string, answer: string])[] = [];
    const taken: string[] = [];
    const onMessage = answering(session, random, journal, {
      sent: (key, answer) => void sent.push([key, answer]),
      taken: (key) => void taken.push(key),
    });
    let reply: Reply;
    while ((reply = await session.request("tools/call", params, { onMessage })).kind === "lost")
      journal.count("calls lost");
    const id = this.#called(session, errand, reply, journal);
    if (id === null) return;
    for (const [key, answer] of sent) journal.answering(id, key, answer);
    for (const key of taken) journal.answered(id, key);
  }

  #called(session: Session, { note }: Errand, reply: Answered, journal: Journal): string | null {
    const message = reply.message ?? {};
    if (isAtCap(reply)) journal.count("refused at the cap");
    const id = heldTask(message);
    if (id === null) {
      if (!isAtCap(reply) && !isCancelledCall(message)) refusal(journal, `The call of ${note}`, reply);
      return null;
    }
    journal.acknowledged(id, { door: this.name, owner: session.owner, note });
    const outcome = outcomeIn(message);
    const view = `a held call of ${session.version}`;
    if (outcome && reportIn(outcome.report))
      journal.saw(id, { view, text: reply.text, status: "settled", sent: -Infinity, outcome });
    return id;
  }

  /** `lost` is also what leaves open whether it has ended. */
  async #look(
    session: Session,
    task: Acknowledged,
    wait: { readonly waitMs?: number },
    journal: Journal,
  ): Promise<"ended" | "working" | "lost"> {
    const sent = journal.now();
    const reply = await this.#help(session, "task_result", { taskId: task.id, ...wait });
    if (reply.kind === "lost") return "lost";
    const message = reply.message ?? {};
    const view = `task_result of ${session.version}`;
    const { report, kind } = outcomeIn(message) ?? { report: null, kind: null };
    const handle = handleIn(message);
    if (handle?.status === "working" || handle?.status === "input_required") {
      // A task of a client that has it asked elsewhere reads as working here, and what is open is read from the text.
      const open = handle.status === "input_required" ? { open: questionsIn(report ?? "") } : {};
      journal.saw(task.id, { view, text: "", status: handle.status, sent, ...open });
      return "working";
    }
    if (report === null) refusal(journal, `${view} for ${task.id}`, reply);
    else if (isMissing(message, report)) journal.missing(task.id, view, this.#server.now());
    else {
      const outcome =
        handle?.status === "cancelled" ? CANCELLED : { kind: handle ? ("error" as const) : (kind ?? "result"), report };
      journal.saw(task.id, { view, text: reply.text, status: "settled", sent, outcome });
    }
    return "ended";
  }

  async #answer(session: Session, random: Random, journal: Journal): Promise<void> {
    const asking = journal.live(session.owner).filter(({ open }) => open.length > 0);
    if (asking.length === 0) return;
    const task = random.of(asking);
    const { open } = task;
    const answers = Object.fromEntries(open.map((key) => [key, anyAnswer(random)]));
    for (const key of open) journal.answering(task.id, key, JSON.stringify(answers[key]));
    const reply = await this.#help(session, "task_answer", { taskId: task.id, answers });
    if (reply.kind === "lost") return;
    const report = outcomeIn(reply.message ?? {})?.report ?? "";
    if (handleIn(reply.message ?? {})) for (const key of open) journal.answered(task.id, key);
    else if (isMissing(reply.message ?? {}, report)) journal.missing(task.id, "task_answer", this.#server.now());
    else refusal(journal, `task_answer for ${task.id}`, reply);
  }

  async #cancel(session: Session, task: Acknowledged, journal: Journal): Promise<void> {
    const reply = await this.#help(session, "task_cancel", { taskId: task.id });
    if (reply.kind === "lost") return;
    const report = outcomeIn(reply.message ?? {})?.report ?? "";
    if (handleIn(reply.message ?? {})) journal.cancelled(task.id);
    else if (isMissing(reply.message ?? {}, report)) journal.missing(task.id, "task_cancel", this.#server.now());
    else refusal(journal, `task_cancel for ${task.id}`, reply);
  }

  #help(session: Session, name: string, args: Fields): Promise<Reply> {
    return session.request("tools/call", { name, arguments: args });
  }
}

const handleIn = ({ result }: Message): Handle | undefined =>
  (result?.["_meta"] as Fields | undefined)?.[HANDLE] as Handle | undefined;

const isMissing = ({ result }: Message, report: string): boolean =>
  result?.["isError"] === true && report.includes(NOT_FOUND);

const questionsIn = (text: string): readonly string[] =>
  [...text.matchAll(/^Question "([^"]+)"/gm)].map(([, key = ""]) => key);
