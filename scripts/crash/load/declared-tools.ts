// Tools that are declared over the store API while the server runs, called over MCP, and worked on by the workers.
import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Register } from "../register.ts";
import { OWNERS, type Server } from "../server.ts";
import type { Answered, Fields, Reply } from "../wire.ts";
import type { Door } from "./door.ts";
import { anyNote } from "./errands.ts";
import { MODERN, requestModern } from "./modern-client.ts";
import { isAtCap, refusal } from "./refusals.ts";
import { Sessions } from "./session.ts";
import { expiryOf } from "./sights.ts";
import { bodyOf, requestStore } from "./store-client.ts";

/** The queue of all of them. */
export const DECLARED = "declared";
const NAMES = Array.from({ length: 6 }, (_, at) => `${DECLARED}-${at}`);
const MOST_ACTS = 3;
const REVISION = "2025-11-25";
const KEY = "dev.holdfast/idempotencyKey";

type Sent = { readonly method: "GET" | "PUT" | "DELETE"; readonly body?: object };

export class DeclaredTools implements Door {
  readonly name = "declared tools";
  readonly weight = 2;
  readonly #server: Server;
  readonly #sessions: Sessions;
  #declarations = 0;

  constructor(server: Server) {
    this.#server = server;
    this.#sessions = new Sessions(server, { elicitation: {}, tasks: {} });
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const name = random.of(NAMES);
    await journal.tools.alone(name, async (tool) => {
      for (let acts = random.between(1, MOST_ACTS); acts > 0; acts -= 1) {
        const what = random.next();
        if (what < 0.2 || tool.held === null) await this.#declare(name, tool, journal);
        else if (what < 0.26) await this.#remove(name, tool, journal);
        else if (what < 0.4) await this.#read(name, tool, journal);
        else await this.#call(name, tool, random, journal);
      }
    });
  }

  /** Each is as it was declared, and listed like any other. */
  async verify(journal: Journal): Promise<void> {
    const reply = await requestModern(this.#server, OWNERS[0], "tools/list", {});
    if (reply.kind === "lost") return;
    const listed = (reply.message?.result?.["tools"] ?? []) as readonly Fields[];
    for (const name of NAMES) {
      const tool = journal.tools.of(name);
      await this.#read(name, tool, journal);
      const told = listed.filter((one) => one["name"] === name).map(({ description }) => String(description));
      if (told.join() !== (tool.held ?? ""))
        journal.found(
          "tools are kept",
          `The tool ${name} is ${tool.told()}, and is listed as ${told.join() || "none"}.`,
        );
    }
  }

  async clear(journal: Journal): Promise<void> {
    for (const name of NAMES) await this.#remove(name, journal.tools.of(name), journal);
  }

  async #declare(name: string, tool: Register, journal: Journal): Promise<void> {
    this.#declarations += 1;
    const description = `Waits for a worker; declaration ${this.#declarations}.`;
    const inputSchema = { type: "object", properties: { note: { type: "string" } }, required: ["note"] };
    tool.writing(description);
    const reply = await this.#request(name, { method: "PUT", body: { description, queue: DECLARED, inputSchema } });
    if (reply.kind === "lost") return;
    if (reply.status !== 200) return refusal(journal, `The declaration of ${name}`, reply);
    tool.holds(description);
    journal.count("tools declared");
  }

  async #remove(name: string, tool: Register, journal: Journal): Promise<void> {
    const [mayBeThere, mayBeGone] = [tool.held !== null || !tool.isSure, tool.mayHold(null)];
    tool.writing(null);
    const reply = await this.#request(name, { method: "DELETE" });
    if (reply.kind === "lost") return;
    const { removed } = bodyOf(reply);
    if (typeof removed !== "boolean") return refusal(journal, `The removal of ${name}`, reply);
    if (removed ? !mayBeThere : !mayBeGone)
      journal.found("tools are kept", `The removal of ${name} told ${removed}: it was ${tool.told()}.`);
    tool.holds(null);
    journal.count("tools removed");
  }

  async #read(name: string, tool: Register, journal: Journal): Promise<void> {
    const reply = await this.#request(name, { method: "GET" });
    if (reply.kind === "lost") return;
    if (reply.status !== 200 && reply.status !== 404) return refusal(journal, `Reading the tool ${name}`, reply);
    const read = reply.status === 404 ? null : String(bodyOf(reply)["description"]);
    if (!tool.mayHold(read))
      journal.found("tools are kept", `The tool ${name} is to be ${tool.told()}, and reads ${read ?? "nothing"}.`);
    tool.holds(read);
  }

  async #call(name: string, tool: Register, random: Random, journal: Journal): Promise<void> {
    const owner = random.of(OWNERS);
    const note = anyNote(DECLARED, journal);
    const key = random.chance(0.6) ? `key-of-${note}` : undefined;
    const isModern = random.chance(0.6);
    const params = { name, arguments: { note } };
    const session = isModern ? null : await this.#sessions.of(owner, REVISION);
    const older = { ...params, task: {}, _meta: key === undefined ? {} : { [KEY]: key } };
    for (;;) {
      const reply = session
        ? await session.request("tools/call", older)
        : await requestModern(this.#server, owner, "tools/call", params, { key });
      if (reply.kind === "lost") {
        journal.count("calls lost");
        if (key === undefined) return;
        continue;
      }
      if (isAtCap(reply)) return journal.count("refused at the cap");
      const task = taskIn(reply);
      if (task) {
        const door = `${session ? REVISION : MODERN}, ${DECLARED}`;
        const expiresAt = expiryOf(task, session ? "ttl" : "ttlMs");
        journal.acknowledged(String(task["taskId"]), { door, owner, note, expiresAt });
      } else if (!isUnknown(reply) || !tool.mayHold(null)) refusal(journal, `The call of ${name} for ${note}`, reply);
      return;
    }
  }

  #request(name: string, sent: Sent): Promise<Reply> {
    return requestStore(this.#server, "worker", `/tools/${name}`, sent);
  }
}

/** The task that a call became, as either revision tells it. */
function taskIn({ message }: Answered): Fields | undefined {
  const { result } = message ?? {};
  return result?.["resultType"] === "task" ? result : (result?.["task"] as Fields | undefined);
}

const isUnknown = ({ message }: Answered): boolean => message?.error?.message.startsWith("There is no tool") === true;
