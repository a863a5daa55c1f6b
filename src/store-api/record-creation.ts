import type { RecordContent } from "../record/command";
import type { Namespace } from "../record/record";
import { digestOf } from "../service/digest";
import type { RecordCreated } from "../service/record-store";
import { full, tooMany } from "../service/task-service";
import type { IdempotencyKey } from "../service/task-store";
import { TaskError } from "../task/errors";
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
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new TaskError("invalid", "An idempotency key has 1 to 255 visible ASCII characters.");
  }
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
    case "conflict":
      throw new TaskError("conflict", "This idempotency key was used before with another record.");
    case "rate":
      throw tooMany(created.value, created.retryAfterMs);
    case "limit":
      throw full(created, "a record that goes frees its place");
  }
}
