import { Channel } from "./channel";
import type { ToolListNews } from "./tool-catalog";

/** The news, and a second source of changes that is ready as soon as it is asked. Ends when both do, and fails with either. */
export async function* withOtherChanges(
  news: AsyncIterable<ToolListNews>,
  others: AsyncIterable<unknown>,
): AsyncGenerator<ToolListNews, void, undefined> {
  const channel = new Channel<ToolListNews>();
  let ready = false;
  const pump = async <T>(source: AsyncIterable<T>, of: (one: T) => ToolListNews): Promise<void> => {
    for await (const one of source) {
      const told = of(one);
      ready ||= told === "ready";
      // What changed before is none of the reader's concern.
      if (ready) channel.push(told);
    }
  };
  void Promise.all([pump(others, () => "changed"), pump(news, (one) => one)])
    .then(() => channel.close())
    .catch((reason: unknown) => channel.close({ reason }));
  yield* channel;
}
