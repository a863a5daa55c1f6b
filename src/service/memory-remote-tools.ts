import type { JsonText } from "../task/json";
import type { RemoteTool } from "../tool/remote-tool";
import { Channel, closeOnAbort } from "./channel";
import { declarationText, tooManyTools } from "./remote-tool-declaration";
import { MAX_REMOTE_TOOLS, type RemoteTools, type ToolListNews } from "./tool-catalog";

/** In one process's memory: for trials and tests. */
export class MemoryRemoteTools implements RemoteTools {
  readonly #texts = new Map<string, JsonText>();
  readonly #watchers = new Set<Channel<ToolListNews>>();

  async put(tool: RemoteTool): Promise<void> {
    const text = declarationText(tool);
    const before = this.#texts.get(tool.name);
    if (before === text) return;
    if (before === undefined && this.#texts.size >= MAX_REMOTE_TOOLS) throw tooManyTools();
    this.#texts.set(tool.name, text);
    this.#tell();
  }

  async remove(name: string): Promise<boolean> {
    const was = this.#texts.delete(name);
    if (was) this.#tell();
    return was;
  }

  async get(name: string): Promise<RemoteTool | null> {
    const text = this.#texts.get(name);
    return text === undefined ? null : (JSON.parse(text) as RemoteTool);
  }

  async list(): Promise<readonly RemoteTool[]> {
    const names = [...this.#texts.keys()].sort();
    return names.map((name) => JSON.parse(this.#texts.get(name) as JsonText) as RemoteTool);
  }

  async *changes(signal: AbortSignal): AsyncGenerator<ToolListNews, void, undefined> {
    const channel = new Channel<ToolListNews>();
    this.#watchers.add(channel);
    closeOnAbort(channel, signal);
    channel.push("ready");
    try {
      yield* channel;
    } finally {
      this.#watchers.delete(channel);
    }
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher.push("changed");
  }
}
