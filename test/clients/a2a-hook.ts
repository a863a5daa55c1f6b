// Where push notifications arrive: a server on this machine that keeps what it is sent.
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { vi } from "vitest";
import type { Wire } from "../support/mcp";
import { newsOf } from "./a2a-wire";

export type Post = { readonly headers: IncomingHttpHeaders; readonly body: Wire };

export type Hook = {
  /** A place of its own for each name. */
  at(name: string): string;
  /** What arrived there, in order. */
  posts(name: string): readonly Post[];
  /** The answer there from now on: a status, an address to go to instead, or nothing at all. Before that it is 204. */
  answer(name: string, how: number | string | "silence"): void;
  /** Waits for what arrived there to be as wanted. */
  until(name: string, wanted: (posts: readonly Post[]) => boolean): Promise<readonly Post[]>;
  stop(): Promise<void>;
};

/** What they tell, in few words; what was told again right after is there once. */
export function inOrder(posts: readonly Post[]): readonly string[] {
  const news = posts.map(({ body }) => newsOf(body));
  return news.filter((told, at) => told !== news[at - 1]);
}

export async function openHook(): Promise<Hook> {
  const arrived = new Map<string, Post[]>();
  const answers = new Map<string, number | string>();
  const postsOf = (name: string): Post[] => arrived.get(name) ?? [];

  const server = createServer(async (request, response) => {
    const name = (request.url ?? "").slice(1);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString() || "null") as Wire;
    arrived.set(name, [...postsOf(name), { headers: request.headers, body }]);
    const how = answers.get(name) ?? 204;
    if (how === "silence") return;
    if (typeof how === "number") response.writeHead(how);
    else response.writeHead(307, { location: how });
    response.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;

  return {
    at: (name) => `http://127.0.0.1:${port}/${name}`,
    posts: postsOf,
    answer: (name, how) => void answers.set(name, how),
    async until(name, wanted) {
      await vi.waitUntil(() => wanted(postsOf(name)), { timeout: 100_000, interval: 50 });
      return postsOf(name);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
