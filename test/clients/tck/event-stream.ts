import type { Wire } from "../../support/mcp";

export type ServerEvent = { readonly type: string; readonly data: Wire };

/** The events of a stream of Server-Sent Events whose data are JSON; comments keep it open and say nothing. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield { type: /^event: ?(.*)$/m.exec(block)?.[1] ?? "message", data: JSON.parse(data) };
    }
  }
}
