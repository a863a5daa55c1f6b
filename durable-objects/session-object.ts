import { DurableObject } from "cloudflare:workers";
import {
  RECENT_CANCELS,
  type Claimed,
  type Session,
  type SessionMessage,
  type SessionRole,
  type Sessions,
} from "../src/service/sessions";
import type { IdempotencyKey } from "../src/service/task-store";
import type { JsonText } from "../src/task/json";
import type { LogLevel } from "../src/tool/context";
import { broadcast, FEED_ENDED, feedWish, openFeed, send } from "./feed-socket";
import type { SessionCalls, SessionWish } from "./rpc";
import { SessionRows } from "./session-rows";
import type { Bindings, Wiring } from "./wiring";

/**
 * One session of an older MCP revision: what must outlive a request of it, and whoever is connected. In storage only
 * from the first thing it keeps until its alarm; reached only by those whose session id was found genuine.
 */
export const sessionObject = ({ clock }: Pick<Wiring, "clock">) =>
  class extends DurableObject<Bindings> implements SessionCalls {
    readonly #rows = new SessionRows(this.ctx.storage);
    #cancelled: readonly (string | number)[] = [];

    async append(session: Session, stream: string, message: JsonText): Promise<string> {
      return this.#keep(session, () => this.#rows.append(stream, message));
    }

    async replay(_session: Session, lastEventId: string): ReturnType<Sessions["replay"]> {
      return this.#rows.replay(lastEventId);
    }

    async setLogLevel(session: Session, level: LogLevel): Promise<void> {
      this.#keep(session, () => this.#rows.setLevel(level));
    }

    async logLevel(): Promise<LogLevel | null> {
      return this.#rows.level();
    }

    async answer(_session: Session, call: string, key: string, answer: JsonText): Promise<boolean> {
      return this.#tell((role) => role.kind === "call" && role.call === call, { kind: "answer", key, answer });
    }

    async cancel(_session: Session, requestId: string | number): Promise<boolean> {
      const told = this.#tell((role) => role.kind === "call" && role.requestId === requestId, { kind: "cancelled" });
      // The call may connect only now: it is told then. In memory, since a call outlives no restart.
      if (!told) this.#cancelled = [...this.#cancelled.slice(1 - RECENT_CANCELS), requestId];
      return told;
    }

    async asking(session: Session, task: string): Promise<void> {
      this.#keep(session, () => this.#rows.ask(task));
      this.#tell((role) => role.kind === "stream", { kind: "asking", task });
    }

    async claim(session: Session, tool: string, idempotency: IdempotencyKey, id: string): Promise<Claimed> {
      const known = this.#rows.claimed(tool, idempotency, id);
      return known ?? this.#keep(session, () => this.#rows.claim(tool, idempotency, id));
    }

    /** The session's time is over. */
    override async alarm(): Promise<void> {
      for (const socket of this.ctx.getWebSockets()) socket.close(FEED_ENDED);
      await this.#rows.wipe();
    }

    /** What goes to the role that the request names; the role lies with the socket, where hibernation keeps it. */
    override async fetch(request: Request): Promise<Response> {
      const { role } = feedWish<SessionWish>(request);
      return openFeed(this.ctx, {}, (socket) => {
        socket.serializeAttachment(role);
        const asking = role.kind === "stream" ? this.#rows.asking() : [];
        send(socket, { kind: "ready", asking } satisfies SessionMessage);
        if (role.kind === "call" && this.#cancelled.includes(role.requestId)) {
          send(socket, { kind: "cancelled" } satisfies SessionMessage);
        }
      });
    }

    #keep<T>({ expiresAt }: Session, write: () => T): T {
      return this.#rows.keep(expiresAt - clock() + Date.now(), write);
    }

    #tell(wanted: (role: SessionRole) => boolean, message: SessionMessage): boolean {
      return broadcast(this.ctx, message, (attachment) => wanted(attachment as SessionRole)) > 0;
    }
  };
