// Clients that wait less long than the tool takes, which is three minutes here; the fixtures' clock makes that short.
import { Client as ClientV2, StreamableHTTPClientTransport, type ClientOptions } from "@modelcontextprotocol/client";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDevServer, type DevServer } from "../../scripts/support/dev-server";
import { moveClock, runCron } from "./fixture-clock";
import { connectSdkClient, textOf, withoutTasks } from "./sdk-v1-client";

const TOOL_MS = 180_000;
/** A call is held 45 s by default, and hosts give up after 60: the same, but shorter. */
const INLINE_WAIT_MS = 2_000;
const PATIENCE_MS = 10_000;
const CRON_MS = 300_000;
const OWNER = "owner-a";
const AUTO: ClientOptions = { versionNegotiation: { mode: "auto" } };

let server: DevServer;
let offset = 0;
beforeAll(
  async () => void (server = await startDevServer({ env: "owners", vars: { INLINE_WAIT_MS: `${INLINE_WAIT_MS}` } })),
);
afterAll(() => server.stop());

type CallOptions = { readonly timeout: number; readonly key?: string };
type Client = {
  /** Rejects when it has waited for that long. */
  call(name: string, args: object, options?: CallOptions): Promise<object>;
  close(): Promise<void>;
};

const sdkV1 = ["the official SDK of the 2025 revisions", connectV1] as const;
const sdkV2 = ["the official client of SDK v2", () => connectV2({})] as const;
const sdkV2Auto = ["the official client of SDK v2 on 2026-07-28", () => connectV2(AUTO)] as const;

describe.each([sdkV1, sdkV2, sdkV2Auto])("%s", (_, connect) => {
  let client: Client;
  beforeAll(async () => void (client = await connect()));
  afterAll(() => client.close());

  it("drops after a second, and by the same call with the same key gets the result of the same task", async () => {
    const key = crypto.randomUUID();
    const park = (timeout: number, ms = TOOL_MS) => client.call("park", { ms }, { timeout, key });
    const before = await listTasks(client);
    await expect(park(1_000)).rejects.toThrow(/timed out/i);
    // As after a restart of the host.
    await client.close();
    client = await connect();
    const [added, ...more] = (await listTasks(client)).filter((id) => !before.includes(id));
    expect(more).toEqual([]);
    await passTime();
    expect(textOf(await park(PATIENCE_MS))).toBe("awake");
    expect(await listTasks(client)).toEqual([added, ...before]);
    await expect(park(PATIENCE_MS, 1)).rejects.toMatchObject({ code: 40900 });
  });

  it("has a limit of its own, is given a handle before that, and gets the result with it", async () => {
    const handle = textOf(await client.call("park", { ms: TOOL_MS }));
    const [taskId] = await listTasks(client);
    expect(handle).toContain(`task_result with {"taskId":"${taskId}"}`);
    expect(textOf(await client.call("task_result", { taskId }))).toContain("still running");
    await passTime();
    expect(textOf(await client.call("task_result", { taskId }))).toBe("awake");
  });
});

// On 2026-07-28 leaving cancels a call without a key, as that revision says.
describe.each([sdkV1, sdkV2])("%s", (_, connect) => {
  it("drops after a second, finds the task in the list, and gets its result", async () => {
    const client = await connect();
    const before = await listTasks(client);
    await expect(client.call("park", { ms: TOOL_MS }, { timeout: 1_000 })).rejects.toThrow(/timed out/i);
    const [taskId, ...others] = await listTasks(client);
    expect([typeof taskId, others]).toEqual(["string", before]);
    await passTime();
    expect(textOf(await client.call("task_result", { taskId }))).toBe("awake");
    await client.close();
  });
});

async function connectV1(): Promise<Client> {
  const client = await connectSdkClient(`${server.url}/mcp`, { token: OWNER, capabilities: withoutTasks });
  return {
    call: (name, args, { timeout, key } = { timeout: PATIENCE_MS }) =>
      client.callTool({ name, arguments: { ...args }, ...keyed(key) }, CallToolResultSchema, { timeout }),
    close: () => client.close(),
  };
}

async function connectV2(options: ClientOptions): Promise<Client> {
  const client = new ClientV2({ name: "holdfast-tests", version: "1.0.0" }, options);
  const requestInit = { headers: { authorization: `Bearer ${OWNER}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
  return {
    call: (name, args, { timeout, key } = { timeout: PATIENCE_MS }) =>
      client.callTool({ name, arguments: { ...args }, ...keyed(key) }, { timeout }),
    close: () => client.close(),
  };
}

/** Hosts that can set no header per call can say it so. */
const keyed = (key: string | undefined) => (key === undefined ? {} : { _meta: { "dev.holdfast/idempotencyKey": key } });

/** The ids of the owner's tasks, newest first. */
const listTasks = async (client: Client): Promise<readonly string[]> =>
  [...textOf(await client.call("task_list", {})).matchAll(/^(\S{43}) /gm)].map(([, id = ""]) => id);

/** Real alarms know nothing of the fixtures' clock; a while after they were due, the cron takes them for lost. */
async function passTime(): Promise<void> {
  offset += TOOL_MS + CRON_MS;
  await moveClock(server, offset);
  await runCron(server);
}
