import { describe, expect, it } from "vitest";
import { TaskError } from "../../src/task/errors";
import { connect, EventReader } from "../support/legacy";
import { serve, SUBSCRIPTION_ID, until, type Wire } from "../support/mcp";
import { remote } from "../support/remote";

const CHANGED = "notifications/tools/list_changed";
const notifications = { toolsListChanged: true };
const owners = ["a"];
const told = (stream: EventReader): number => stream.messages.filter(({ method }) => method === CHANGED).length;

describe("the list of tools", () => {
  it("is told to have changed on a subscription of 2026-07-28, from its acknowledgment on", async () => {
    const served = await serve([]);
    const stream = new EventReader(await served.send("subscriptions/listen", { notifications }, { id: "s" }));
    const { params } = await stream.notification("notifications/subscriptions/acknowledged");
    expect(params.notifications).toEqual(notifications);
    await served.call("tools/list");
    expect(told(stream)).toBe(0);
    await served.remoteTools.put(remote());
    expect(await stream.notification(CHANGED)).toEqual({
      jsonrpc: "2.0",
      method: CHANGED,
      params: { _meta: { [SUBSCRIPTION_ID]: "s" } },
    });
    // The same again is no change.
    await served.remoteTools.put(remote());
    await served.remoteTools.put(remote({ title: "Render" }));
    await stream.notification(CHANGED, 2);
    await served.remoteTools.remove("render");
    await stream.notification(CHANGED, 3);
    expect(stream.messages).toHaveLength(4);
    await stream.leave();
  });

  it.each(["2025-11-25", "2025-06-18", "2025-03-26"])(
    "is told to have changed on a %s session's stream",
    async (version) => {
      const served = await serve([], { owners });
      const client = await connect(served, { version, token: "a" });
      const stream = await client.listen();
      let n = 0;
      // The stream is there before it listens to anything.
      const change = () => served.remoteTools.put(remote({ title: String((n += 1)) }));
      await until(change, () => told(stream) > 0);
      const before = told(stream);
      await served.remoteTools.remove("render");
      await stream.notification(CHANGED, before + 1);
      expect(stream.messages.at(-1)).toEqual({ jsonrpc: "2.0", method: CHANGED, params: {} });
      await stream.leave();
    },
  );

  it("takes a place among its owner's streams where no task does", async () => {
    const full = new TaskError("limit_reached", "MAX_STREAMS_PER_OWNER streams are open; close one first.");
    const changes = () => {
      throw full;
    };
    const tasks = { changes, occupy: async () => {} } as Wire;
    const broken = await serve([], { owners, deps: { tasks } });
    const refused = await broken.call("subscriptions/listen", { notifications }, { token: "a" });
    expect(refused.error).toMatchObject({ code: 42900, message: full.message });
    const client = await connect(broken, { token: "a", version: "2025-03-26" });
    expect((await client.get()).status).toBe(429);
  });
});
