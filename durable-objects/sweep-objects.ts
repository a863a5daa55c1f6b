import type { Clock } from "../src/clock";
import type { Limits } from "../src/service/limits";
import type { Examined } from "../src/service/task-index";
import type { SweepReport } from "../src/service/task-store";
import { mintedId } from "./minted-id";
import { DIRECTORY_SHARDS, recordSpaceOf } from "./names";
import { examineRecord } from "./record-spaces";
import { directoryStub, indexStub, taskStub, type StorageBindings } from "./rpc";
import { sweep } from "./sweep";

export type SweepObjectsParts = {
  readonly objects: StorageBindings;
  readonly limits: Limits;
  readonly clock: Clock;
};

/** One collecting run over all that the objects keep: tasks and records have their rows in the same kind of index. */
export const sweepObjects = ({ objects, limits, clock }: SweepObjectsParts, budget: number): Promise<SweepReport> =>
  sweep(
    {
      shards: DIRECTORY_SHARDS,
      directory: (shard) => directoryStub(objects, shard),
      index: (name) => indexStub(objects, name),
      examine: (name, id) => {
        const space = recordSpaceOf(name);
        return space ? examineRecord(objects, space, name, id, limits.retentionMs) : examineTask(objects, id);
      },
      clock,
      random: Math.random,
    },
    budget,
  );

export async function examineTask(objects: StorageBindings, id: string): Promise<Examined> {
  const hex = mintedId(objects.TASKS, id)?.toString();
  // A row from another deployment's storage names an object that cannot be here.
  if (hex === undefined) return { id, found: false };
  return { ...(await taskStub(objects, hex).examine()), id };
}
