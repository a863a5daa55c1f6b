import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { vi } from "vitest";
import type { Wire } from "../../support/mcp";

export type Delivery = {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Wire;
};

export type Webhook = {
  /** An address that nobody had before. */
  address(): string;
  /** What has come there so far. */
  at(address: string): readonly Delivery[];
  /** The first there of which this is true; waits for it. */
  awaited(address: string, wanted: (delivery: Delivery) => boolean): Promise<Delivery>;
  close(): Promise<void>;
};

/** A server that takes whatever is posted to it. */
export async function openWebhook(): Promise<Webhook> {
  const received: (Delivery & { readonly path: string })[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(text) });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const at = (address: string) => received.filter(({ path }) => origin + path === address);
  return {
    address: () => `${origin}/${crypto.randomUUID()}`,
    at,
    awaited: (address, wanted) => vi.waitUntil(() => at(address).find(wanted), { timeout: 30_000, interval: 50 }),
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}
