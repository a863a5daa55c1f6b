import { DurableObject } from "cloudflare:workers";
import { MAX_REMOTE_TOOLS } from "../src/service/tool-catalog";
import type { JsonText } from "../src/task/json";
import { broadcast, openFeed, send } from "./feed-socket";
import type { ToolsCalls, ToolsMessage } from "./rpc";
import { Schema } from "./schema";
import { toolsSql, toolsUpgrades } from "./tools-object-sql";

/** The remote tools that were declared over the API, one object for all; and whoever wants to know when they change. */
export class ToolsObject extends DurableObject implements ToolsCalls {
  readonly #schema = new Schema(this.ctx.storage, toolsUpgrades, toolsSql);

  async put(name: string, declaration: JsonText): Promise<"stored" | "full"> {
    const before = this.#find(name);
    if (before === declaration) return "stored";
    if (before === null && this.#list().tools >= MAX_REMOTE_TOOLS) return "full";
    this.#schema.transaction(() => {
      this.#schema.create();
      this.#schema.query("put", name, declaration);
      this.#schema.query("change", before === null ? 1 : 0);
    });
    this.#tell();
    return "stored";
  }

  async remove(name: string): Promise<boolean> {
    if (this.#find(name) === null) return false;
    this.#schema.transaction(() => {
      this.#schema.query("remove", name);
      this.#schema.query("change", -1);
    });
    this.#tell();
    return true;
  }

  async get(name: string): Promise<JsonText | null> {
    return this.#find(name);
  }

  async list(): Promise<readonly JsonText[]> {
    return this.#schema.query<{ declaration: JsonText }>("all").map(({ declaration }) => declaration);
  }

  /** A feed of revisions, the present one first. */
  override async fetch(): Promise<Response> {
    return openFeed(this.ctx, {}, (socket) => send(socket, this.#news()));
  }

  #find(name: string): JsonText | null {
    return this.#schema.query<{ declaration: JsonText }>("get", name)[0]?.declaration ?? null;
  }

  #list(): { readonly tools: number; readonly revision: number } {
    return this.#schema.query<{ tools: number; revision: number }>("list")[0] ?? { tools: 0, revision: 0 };
  }

  #news(): ToolsMessage {
    return { revision: this.#list().revision };
  }

  #tell(): void {
    broadcast(this.ctx, this.#news());
  }
}
