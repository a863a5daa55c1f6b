import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { durableTaskStore } from "../../durable-objects/durable-task-store";
import { runnerDrive } from "../../durable-objects/runner-drive";
import type { Bindings } from "../../durable-objects/wiring";
import { d1Store } from "../../src/d1/d1-store";
import type { Limits } from "../../src/service/limits";
import { TaskService } from "../../src/service/task-service";
import { decodeTaskId } from "../../src/task-id";
import type { JsonObject } from "../../src/task/json";
import { createRegistry } from "../../src/tool/registry";
import type { AnyTool } from "../../src/tool/define-tool";
import { setStage } from "../stores/stage";
import { everything, limits as defaults, movableClock, someone } from "../support/memory";

export const objects = env as unknown as Bindings & TestDatabase;

export const owner = someone("runner");

export type StoreKind = "objects" | "d1";

/** A deployment of these tools over one of the stores. */
export function deploy(tools: readonly AnyTool[], kept: StoreKind = "objects", over: Partial<Limits> = {}) {
  const clock = movableClock();
  const limits = { ...defaults, ...over };
  const parts = { limits, clock: clock.now };
  const lines: string[] = [];
  const log = (_: unknown, message: string): void => void lines.push(message);
  const d1 = kept === "d1" ? d1Store({ db: objects.DB, ...parts }) : null;
  const store = d1 ?? durableTaskStore({ objects, ...parts });
  const drive = d1 ? runnerDrive(objects, d1, clock.now, log) : undefined;
  const tasks = new TaskService({ store, drive, ...parts });
  /** Another version of the code, or another set of tools. */
  const redeploy = (others: readonly AnyTool[]) => setStage({ ...parts, registry: createRegistry(others), store, log });
  redeploy(tools);
  const start = async (name: string, args: JsonObject = {}): Promise<string> => {
    const tool = createRegistry(tools).get(name);
    if (!tool) throw new Error(`There is no tool ${name}.`);
    const request = { principal: owner, tool, arguments: args, client: everything, origin: "test" };
    return (await tasks.start(request)).task.id;
  };
  const get = (id: string) => tasks.look(owner, id);
  const until = (id: string, phase: "working" | "input_required" | "settled") =>
    vi.waitUntil(
      async () => {
        const task = await get(id);
        return task.stage.phase === phase ? task : false;
      },
      { timeout: 25_000 },
    );
  const answer = async (id: string, key: string, content: object = {}) =>
    tasks.answer(owner, id, { [key]: JSON.stringify({ action: "accept", content }) });
  const settled = (id: string) => until(id, "settled");
  return { clock, store, drive, tasks, lines, redeploy, start, get, until, settled, answer };
}

export const taskObject = (id: string) => objects.TASKS.get(objects.TASKS.idFromString(decodeTaskId(id) as string));

export const workflowOf = (id: string) => objects.TASK_WORKFLOW!.get(decodeTaskId(id) as string);

/** A door that runs wait at until the test opens it. Both sides look: no promise crosses from one request to another. */
export function door() {
  let isOpen = false;
  let isReached = false;
  const pass = async (): Promise<void> => {
    isReached = true;
    while (!isOpen) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const reached = () => vi.waitUntil(() => isReached, { timeout: 25_000 });
  return { pass, open: () => void (isOpen = true), reached };
}
