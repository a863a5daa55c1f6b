// JSON-RPC over HTTP as clients speak it, with a server that may die in the middle of any of it.
import type { Server } from "./server.ts";

export type Fields = { readonly [name: string]: unknown };

export type Message = {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Fields;
  readonly result?: Fields;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Fields };
};

export type Reply =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Headers;
      /** The bytes of the message that answers, and what they say; empty and null where none came. */
      readonly text: string;
      readonly message: Message | null;
    }
  /** The server died over it, or the client left, and nobody knows how far it came. */
  | { readonly kind: "lost" };

export type Answered = Extract<Reply, { kind: "answer" }>;

export type Exchange = {
  /** `/mcp`, if left out. */
  readonly path?: string;
  readonly method?: "POST" | "GET" | "PUT" | "PATCH" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
  /** What comes on the stream ahead of the answer. */
  readonly onMessage?: (message: Message, text: string) => void;
  /** Each answer on the stream, where there are many; the last one answers the request. */
  readonly onResult?: (message: Message) => void;
  /** The id of each event that has one: where to go on. */
  readonly onEvent?: (id: string) => void;
  /** It may take as long as it takes. */
  readonly waits?: boolean;
  /** The client leaves then, and what it asked for is as good as lost. */
  readonly signal?: AbortSignal;
};

/** All requests have it, so that equal answers are equal byte for byte. */
export const REQUEST_ID = "x";

/** No request that does not wait for anything takes that long, even on a busy machine. */
const PATIENCE_MS = 60_000;

/** The server was up all the while, and yet did not answer. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

export async function exchange(server: Server, sent: Exchange): Promise<Reply> {
  const life = await server.up();
  const { path = "/mcp", method = "POST", headers, body, waits = false, signal } = sent;
  const signals = [...(waits ? [] : [AbortSignal.timeout(PATIENCE_MS)]), ...(signal ? [signal] : [])];
  try {
    const response = await fetch(server.url + path, {
      method,
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any(signals),
    });
    server.answered(life);
    const text = isStream(response) ? await lastOf(response, sent) : await response.text();
    const message = text === "" ? null : (JSON.parse(text) as Message);
    return { kind: "answer", status: response.status, headers: response.headers, text, message };
  } catch (error) {
    if (server.life !== life || signal?.aborted) return { kind: "lost" };
    // The sockets may break a moment before we are told that the server is dead.
    await new Promise((resolve) => setTimeout(resolve, 500));
    if (server.life !== life) return { kind: "lost" };
    const cause = error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error);
    throw new Unanswered(`${path}: ${JSON.stringify(body ?? method).slice(0, 300)} was not answered: ${cause.trim()}`);
  }
}

const isStream = (response: Response): boolean =>
  response.headers.get("content-type")?.startsWith("text/event-stream") === true;

/** Reads the stream to its end; the last message is the answer if it answers, and there is none otherwise. */
async function lastOf(response: Response, { onMessage, onResult, onEvent }: Exchange): Promise<string> {
  const decoder = new TextDecoder();
  let buffered = "";
  let answer = "";
  for await (const chunk of response.body ?? []) {
    buffered += decoder.decode(chunk as Uint8Array, { stream: true });
    for (let end = buffered.indexOf("\n\n"); end >= 0; end = buffered.indexOf("\n\n")) {
      const lines = buffered.slice(0, end).split("\n");
      buffered = buffered.slice(end + 2);
      const field = (name: string) =>
        lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).trimStart()] : []));
      const [id] = field("id");
      if (id !== undefined) onEvent?.(id);
      const data = field("data").join("\n");
      if (data === "") continue;
      const message = JSON.parse(data) as Message;
      if (message.method === undefined) {
        answer = data;
        onResult?.(message);
      } else onMessage?.(message, data);
    }
  }
  return answer;
}
