// The doors to one owner's tasks, and what must be the same through all of them.
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { expect, vi } from "vitest";
import type { DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";
import { call } from "../support/raw-client";
import { a2aWire, FACTS, heardIn, skill, type A2aWire } from "./a2a-wire";
import { connectSdkClient, type SdkClientOptions } from "./sdk-v1-client";

const ELICITATION = { form: {}, url: {} };
const MODERN = { elicitation: ELICITATION, extensions: { "io.modelcontextprotocol/tasks": {} } };

export type Doors = {
  readonly a2a: A2aWire;
  /** A request of 2026-07-28, and its answer. */
  readonly modern: (method: string, params: Wire) => Promise<Wire>;
  /** Of 2025-11-25. Its user looks at no form. */
  readonly sdk: Client;
};

export const connectLegacy = ({ url }: DevServer, options: SdkClientOptions = {}): Promise<Client> =>
  connectSdkClient(`${url}/mcp`, {
    token: "owner-a",
    capabilities: { elicitation: ELICITATION, tasks: {} },
    ...options,
  });

export const connectDoors = async (server: DevServer): Promise<Doors> => ({
  a2a: a2aWire(server),
  modern: (method, params) => call(server.url, method, params, { token: "owner-a", capabilities: MODERN }),
  sdk: await connectLegacy(server, { onForm: () => new Promise(() => {}) }),
});

export type Reading = {
  readonly task: Wire;
  /** As 2026-07-28 and 2025-11-25 have it. */
  readonly newest: Wire;
  readonly older: Wire;
};

/** The same moment through all of them, once the task stands so. */
export async function read({ a2a, modern, sdk }: Doors, id: string, state: string): Promise<Reading> {
  await a2a.until(id, state);
  return vi.waitUntil(
    async () => {
      const task = await a2a.get(id);
      const newest = (await modern("tasks/get", { taskId: id })).result as Wire;
      const older = (await sdk.experimental.tasks.getTask(id)) as Wire;
      return JSON.stringify(await a2a.get(id)) === JSON.stringify(task) && { task, newest, older };
    },
    { timeout: 55_000, interval: 250 },
  );
}

/** What all say of any task, each in its own words. */
export function expectSame({ task, newest, older }: Reading, origin: string, tool: string, args: object): void {
  const { createdAt, updatedAt, ttlMs, pollIntervalMs, ...facts } = task.metadata[FACTS];
  expect(newest).toMatchObject({ taskId: task.id, createdAt, lastUpdatedAt: updatedAt, ttlMs, pollIntervalMs });
  const { ttl, pollInterval } = older;
  expect(older).toMatchObject({ taskId: task.id, createdAt, lastUpdatedAt: updatedAt });
  expect({ ttl, pollInterval }).toEqual({ ttl: ttlMs, pollInterval: pollIntervalMs });
  expect(facts).toMatchObject({ origin, tool });
  expect(task.status.timestamp <= updatedAt && task.status.timestamp >= createdAt).toBe(true);
  // A call is told as the message that would have made the same task; every task has a context.
  expect(heardIn(task)[0]).toBe(`user: ${JSON.stringify(skill(tool, args))}`);
  expect(task.history[0]).toMatchObject({ taskId: task.id, contextId: task.contextId });
  expect(task.contextId).toMatch(/./);
}

/** A block of a result as the part of an artifact that it is told as. */
export function partOf({ type, text, data, mimeType, uri, name, resource }: Wire): Wire {
  switch (type) {
    case "text":
      return { text, mediaType: "text/plain" };
    case "resource_link":
      return { url: uri, filename: name, mediaType: mimeType };
    case "resource": {
      const filename = resource.uri.split("/").at(-1);
      const content = resource.blob === undefined ? { text: resource.text } : { raw: resource.blob };
      const metadata = { [FACTS]: { uri: resource.uri } };
      return { ...content, filename, metadata, ...(resource.mimeType ? { mediaType: resource.mimeType } : {}) };
    }
    default:
      return { raw: data, mediaType: mimeType };
  }
}
