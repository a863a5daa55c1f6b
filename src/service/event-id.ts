/** `<stream>.<n>`: an event names the stream it was sent on (MCP 2025-11-25 transports §Resumability and Redelivery). */
export const eventId = (stream: string, n: number): string => `${stream}.${n}`;

/** Null for what is no id of ours. */
export function parseEventId(id: string): { readonly stream: string; readonly n: number } | null {
  const [, stream, n] = /^(.+)\.(0|[1-9]\d{0,14})$/.exec(id) ?? [];
  return stream === undefined ? null : { stream, n: Number(n) };
}
