import { declarationText, tooManyTools } from "../src/service/remote-tool-declaration";
import type { RemoteTools } from "../src/service/tool-catalog";
import type { RemoteTool } from "../src/tool/remote-tool";
import { attach, ownerFeed } from "./feed";
import { calling, callingOnce } from "./object-call";
import { toolsStub, type StorageBindings, type ToolsMessage } from "./rpc";

/** The one object's. Declarations travel as text, so that whatever their schemas hold arrives as it was sent. */
export function durableRemoteTools(objects: StorageBindings): RemoteTools {
  const object = () => toolsStub(objects);
  return {
    async put(tool) {
      const text = declarationText(tool);
      if ((await calling(() => object().put(tool.name, text))) === "full") throw tooManyTools();
    },
    // Repeated, it would not find what it removed.
    remove: (name) => callingOnce(() => object().remove(name)),
    async get(name) {
      const text = await calling(() => object().get(name));
      return text === null ? null : (JSON.parse(text) as RemoteTool);
    },
    async list() {
      const texts = await calling(() => object().list());
      return texts.map((text) => JSON.parse(text) as RemoteTool);
    },
    async *changes(signal) {
      let seen: number | null = null;
      for await (const { revision } of ownerFeed<ToolsMessage>(() => attach(object(), {}, signal), signal)) {
        if (seen === null) yield "ready";
        else if (revision !== seen) yield "changed";
        seen = revision;
      }
    },
  };
}
