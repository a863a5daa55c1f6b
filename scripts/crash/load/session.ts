import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import { OWNERS, type OwnerName, type Server } from "../server.ts";
import { exchange, REQUEST_ID, type Exchange, type Fields, type Message, type Reply } from "../wire.ts";
import { anyAnswer } from "./errands.ts";

export type SessionVersion = "2025-11-25" | "2025-06-18" | "2025-03-26";

type More = Pick<Exchange, "onMessage" | "onEvent" | "waits">;

/** A session of a revision that has them. Its id has to be good for as long as the run lasts. */
export class Session {
  readonly owner: OwnerName;
  readonly version: SessionVersion;
  readonly #server: Server;
  readonly #id: string;

  constructor(server: Server, version: SessionVersion, owner: OwnerName, id: string) {
    this.#server = server;
    this.version = version;
    this.owner = owner;
    this.#id = id;
  }

  request(method: string, params: Fields, more: More = {}): Promise<Reply> {
    return this.#exchange({ body: { jsonrpc: "2.0", id: REQUEST_ID, method, params }, ...more });
  }

  /** Goes on with a stream that broke. */
  resume(lastEventId: string, more: More): Promise<Reply> {
    return this.#exchange({ method: "GET", lastEventId, ...more });
  }

  /** Answers a request of the server's; whether the answer was taken. */
  async respond(id: string | number, result: Fields): Promise<boolean> {
    const reply = await this.#exchange({ body: { jsonrpc: "2.0", id, result } });
    return reply.kind === "answer" && reply.status === 202;
  }

  #exchange({ lastEventId, ...sent }: Omit<Exchange, "headers"> & { readonly lastEventId?: string }): Promise<Reply> {
    const headers = {
      "Mcp-Session-Id": this.#id,
      "MCP-Protocol-Version": this.version,
      Authorization: `Bearer ${this.owner}`,
      ...(lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId }),
    };
    return exchange(this.#server, { headers, ...sent });
  }
}

/** One session for each owner and version, begun when it is first wanted. */
export class Sessions {
  readonly #server: Server;
  readonly #capabilities: Fields;
  readonly #begun = new Map<string, Promise<Session>>();

  constructor(server: Server, capabilities: Fields) {
    this.#server = server;
    this.#capabilities = capabilities;
  }

  any(random: Random, versions: readonly SessionVersion[]): Promise<Session> {
    return this.of(random.of(OWNERS), random.of(versions));
  }

  of(owner: OwnerName, version: SessionVersion): Promise<Session> {
    const name = `${owner} ${version}`;
    const begun = this.#begun.get(name) ?? this.#begin(owner, version);
    this.#begun.set(name, begun);
    return begun;
  }

  async #begin(owner: OwnerName, version: SessionVersion): Promise<Session> {
    const clientInfo = { name: "crash", version: "1" };
    const params = { protocolVersion: version, capabilities: this.#capabilities, clientInfo };
    for (;;) {
      const reply = await exchange(this.#server, {
        headers: { Authorization: `Bearer ${owner}` },
        body: { jsonrpc: "2.0", id: REQUEST_ID, method: "initialize", params },
      });
      if (reply.kind === "lost") continue;
      const id = reply.headers.get("mcp-session-id");
      if (id === null) throw new Error(`No session of ${version} was begun: ${reply.text}`);
      return new Session(this.#server, version, owner, id);
    }
  }
}

export type OnAnswer = {
  readonly sent: (key: string, answer: string) => void;
  readonly taken: (key: string) => void;
};

/** Answers what is asked on a stream. Most users answer at once; some never do, and another may. */
export function answering(session: Session, random: Random, journal: Journal, { sent, taken }: OnAnswer) {
  return ({ id, method, params }: Message): void => {
    if (method !== "elicitation/create" || id === undefined || random.chance(0.2)) return;
    const key = String(params?.["message"]);
    const answer = anyAnswer(random);
    sent(key, JSON.stringify(answer));
    session.respond(id, answer).then(
      (isTaken) => void (isTaken && taken(key)),
      (error: unknown) => journal.found("an answer to each", String(error)),
    );
  };
}
