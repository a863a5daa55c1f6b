import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import type { StorageBindings } from "../../durable-objects/rpc";
import { describeTaskStore } from "./contract";
import { setStage } from "./stage";

const objects = env as unknown as StorageBindings;

describeTaskStore("the durable store", async (parts) => {
  await reset();
  setStage(parts);
  return durableTaskStore({ objects, limits: parts.limits, clock: parts.clock });
});
