import type { Caller, Subject } from "../../src/kit/subject";
import type { Namespace } from "../../src/record/record";
import type { Limits } from "../../src/service/limits";
import { MemoryRecordStore } from "../../src/service/memory-record-store";
import type { Principal } from "../../src/service/principal";
import type { RecordStore } from "../../src/service/record-store";
import { storeService } from "../../src/store-api/store-service";
import { limits as defaults, movableClock } from "../support/memory";

const namespace = (name: string, over: Partial<Namespace> = {}): Namespace => ({
  name,
  kind: "task",
  owners: "separate",
  zeroTtl: "expires",
  list: true,
  revisions: 20,
  ...over,
});

/** The namespaces that the fixture environments of wrangler.toml have. */
export const NAMESPACES: readonly Namespace[] = [
  namespace("default"),
  namespace("documents", { kind: "document" }),
  namespace("strict", { owners: "strict", list: false }),
  namespace("lenient", { owners: "lenient" }),
  namespace("none", { owners: "none", zeroTtl: "never" }),
  namespace("files", { kind: "document", owners: "none" }),
];

const PRINCIPALS: Readonly<Record<Caller, Principal>> = {
  "client-a": identified("a", "client"),
  "client-b": identified("b", "client"),
  worker: identified("worker", "worker"),
  admin: identified("admin", "admin"),
};

function identified(subject: string, scope: "client" | "worker" | "admin"): Principal {
  return { kind: "identified", issuer: "test", subject, scopes: [scope], expiresAt: null };
}

/** Any record store, under the service that every door stands on. */
export function serviceSubject(records: RecordStore, limits: Limits, clock: ReturnType<typeof movableClock>): Subject {
  const service = storeService({ records, namespaces: NAMESPACES, limits });
  return { api: (as) => service.as(PRINCIPALS[as]), now: clock.now, advance: clock.advance };
}

export function memorySubject(over: Partial<Limits> = {}): Subject {
  const clock = movableClock();
  const limits = { ...defaults, ...over };
  return serviceSubject(new MemoryRecordStore({ limits, clock: clock.now }), limits, clock);
}
