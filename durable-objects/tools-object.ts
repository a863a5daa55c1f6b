import { DurableObject } from "cloudflare:workers";
import { MAX_REMOTE_TOOLS } from "../src/service/tool-catalog";
import type { JsonText } from "../src/task/json";
import { broadcast, isUpgrade, openFeed } from "./feed-socket";
import type { ToolsCalls, ToolsMessage } from "./rpc";
import { Schema } from "./schema";
import { toolsSql, toolsUpgrades } from "./tools-object-sql";

/** The remote tools that were declared over the API, one object for all; and whoever wants to know when they change. */
export class ToolsObject extends DurableObject implements ToolsCalls {
  readonly #sql = this.ctx.storage.sql;
  readonly #schema = new Schema(this.ctx.storage, toolsUpgrades);

  async put(name: string, declaration: JsonText): Promise<"stored" | "full"> {
    const before = this.#find(name);
    if (before === declaration) return "stored";
    if (before === null && this.#list().tools >= MAX_REMOTE_TOOLS) return "full";
    this.#schema.transaction(() => {
      this.#schema.create();
      this.#sql.exec(toolsSql.put, name, declaration);
      this.#sql.exec(toolsSql.change, before === null ? 1 : 0);
    });
    this.#tell();
    return "stored";
  }

  async remove(name: string): Promise<boolean> {
    if (this.#find(name) === null) return false;
    this.#schema.transaction(() => {
      this.#sql.exec(toolsSql.remove, name);
      this.#sql.exec(toolsSql.change, -1);
    });
    this.#tell();
    return true;
  }

  async get(name: string): Promise<JsonText | null> {
    return this.#find(name);
  }

  async list(): Promise<readonly JsonText[]> {
    if (!this.#schema.exists()) return [];
    const rows = this.#sql.exec<{ declaration: JsonText }>(toolsSql.all).toArray();
    return rows.map(({ declaration }) => declaration);
  }

  /** A feed of revisions, the present one first. */
  override async fetch(request: Request): Promise<Response> {
    if (!isUpgrade(request)) return new Response(null, { status: 426 });
    const { socket, response } = openFeed(this.ctx);
    socket.send(JSON.stringify(this.#news()));
    return response;
  }

  /** Whoever is connected only listens. */
  override webSocketMessage(): void {}

  /** Nothing is kept beside the socket, and the platform answers the close. */
  override webSocketClose(): void {}

  #find(name: string): JsonText | null {
    if (!this.#schema.exists()) return null;
    const [row] = this.#sql.exec<{ declaration: JsonText }>(toolsSql.get, name).toArray();
    return row?.declaration ?? null;
  }

  #list(): { readonly tools: number; readonly revision: number } {
    if (!this.#schema.exists()) return { tools: 0, revision: 0 };
    return this.#sql.exec<{ tools: number; revision: number }>(toolsSql.list).one();
  }

  #news(): ToolsMessage {
    return { revision: this.#list().revision };
  }

  #tell(): void {
    broadcast(this.ctx, this.#news());
  }
}
