import type { RecordContent } from "../record/command";
import type { Namespace } from "../record/record";
import { digestOf } from "../service/digest";
import { checkedKey } from "../service/idempotency-key";
import { notCreated } from "../service/not-created";
import type { RecordCreated } from "../service/record-store";
import type { IdempotencyKey } from "../service/task-store";
import type { Created } from "./api";
import { asCalled } from "./chosen-ids";

/**
 * The key as a keyspace knows it: where all ids lie together, each owner's keys are still its own. Null where none was
 * given, and for nobody's records where owners are kept apart: anonymous callers share nothing, keys included.
 */
export async function idempotencyOf(
  key: string | undefined,
  owner: string | null,
  { owners }: Namespace,
  asked: { readonly id: string | undefined; readonly content: RecordContent },
): Promise<IdempotencyKey | null> {
  if (key === undefined) return null;
  checkedKey(key);
  if (owners === "separate" && owner === null) return null;
  return { key: JSON.stringify([owner, key]), digest: await digestOf(JSON.stringify(asked)) };
}

/** A store's answer, as callers are told. */
export function toCreated(created: RecordCreated): Created {
  switch (created.kind) {
    case "created":
    case "existing":
      return { kind: created.kind, record: asCalled(created.record) };
    case "taken":
      return created;
    default:
      throw notCreated(created);
  }
}
