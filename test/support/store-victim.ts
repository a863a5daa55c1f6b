import { decodeBase64url } from "../../src/base64url";
import type { Scope } from "../../src/service/principal";
import { toCursor } from "../../src/store-api/record-cursor";
import { randomTaskId } from "../../src/task-id";
import { someone } from "./memory";
import { CALLERS, serveStore, type Called, type SendOptions, type StoreServed } from "./store";

/** What somebody is given, or makes up, that another must get nothing for. */
export const kinds = [
  "id",
  "kept id",
  "namespace",
  "owner",
  "key",
  "cursor",
  "version",
  "task",
  "lease",
  "claim",
  "tool",
] as const;
export type Kind = (typeof kinds)[number];

export type Secret = { readonly kind: Kind; readonly value: string };

/** A client and a worker who have something; a client and a worker who are after it; and an admin. */
export type Who = "ann" | "wendy" | "bob" | "mallory" | "root";

export type StoreWorld = {
  readonly served: StoreServed;
  readonly identified: boolean;
  readonly secrets: readonly Secret[];
  /** Bob's and Mallory's own: a record that is final, in each namespace that clients have. */
  readonly own: string;
  /** A task that Mallory has, and its lease. */
  readonly job: Job;
  /** Wendy's. The first has an open question. */
  readonly jobs: readonly [Job, Job];
  call(who: Who, method: string, path: string, options?: SendOptions): Promise<Called>;
  send(who: Who, method: string, path: string, options?: SendOptions): Promise<Response>;
  /** All that Ann and Wendy have, as it stands. */
  readonly seen: () => Promise<string>;
};

type Job = { readonly taskId: string; readonly lease: string };

/** Stands in whatever is theirs: whoever reads it was told too much. */
export const HIDDEN = "what only its owner may read";
export const KEYED = { document: { keyed: HIDDEN } };
export const OWN = "own record";
/** An owner in the namespaces whose owners the call names. */
export const ALICE = "alice of wonderland";

const SHARED = ["strict", "lenient", "none", "files"] as const;
const WRITES = 40;
const KEY = "a-key-that-only-ann-has";
const OTHERS: Readonly<Record<string, readonly Scope[]>> = { ...CALLERS, mallory: ["worker"] };

const annOwner = JSON.stringify(["holdfast:token", "ann"]);

/** With tokens, or where nobody can be told from anybody: then workers are on this machine, and clients are not. */
export async function storeWorld(identified: boolean): Promise<StoreWorld> {
  const tokens = identified ? await Promise.all(Object.entries(OTHERS).map(tokenEntry)) : null;
  const served = await serveStore({
    limits: { createsPerMinute: 1_000_000 },
    config: { tokens, allowAnonymous: !identified },
    ...(identified ? {} : { tokens: false }),
  });
  const isClient = (who: Who): boolean => who === "ann" || who === "bob";
  const as = (who: Who): SendOptions =>
    identified ? { as: who } : isClient(who) ? { origin: "https://holdfast.example" } : {};
  const send: StoreWorld["send"] = (who, method, path, options = {}) =>
    served.send(method, path, { ...as(who), ...options });
  const call: StoreWorld["call"] = (who, method, path, options = {}) =>
    served.call(method, path, { ...as(who), ...options });
  const make = async (who: Who, path: string, options: SendOptions): Promise<string> => {
    const { status, body, text } = await call(who, "POST", path, options);
    if (status !== 201) throw new Error(`What Ann has could not be made: ${text}`);
    return body.id;
  };

  const document = { note: HIDDEN };
  const ids: { readonly namespace: string; readonly id: string; readonly owner: string | null }[] = [];
  for (const namespace of ["default", "documents"]) {
    const path = `/namespaces/${namespace}/records`;
    const owner = identified ? annOwner : null;
    ids.push({ namespace, owner, id: await make("ann", path, { body: { document } }) });
    if (identified)
      ids.push({ namespace, owner, id: await make("ann", path, { body: { id: `hers/in ${namespace}`, document } }) });
  }
  for (let n = 0; n < WRITES; n += 1)
    await call("ann", "PATCH", `/namespaces/default/records/${ids[0]?.id}`, { body: { document: { n } } });
  const headers = { "Idempotency-Key": KEY };
  const keyed = await make("ann", "/namespaces/default/records", { body: KEYED, headers });
  ids.push({ namespace: "default", owner: identified ? annOwner : null, id: keyed });
  for (const namespace of SHARED) {
    const id = `kept in ${namespace}`;
    const query = `owner=${encodeURIComponent(ALICE)}`;
    await make("wendy", `/namespaces/${namespace}/records?${query}`, { body: { id, document } });
    ids.push({ namespace, owner: ALICE, id });
  }
  const page = await call("ann", "GET", "/namespaces/default/records?limit=1");

  const tasks = [await served.start({ scene: HIDDEN }), await served.start({ scene: HIDDEN })];
  const jobs: [Job, Job] = [await claim("wendy", "wendys-claim-1"), await claim("wendy", "wendys-claim-2")];
  const question = {
    method: "elicitation/create",
    params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } },
  };
  const asking = { lease: jobs[0].lease, questions: { which: question } };
  await call("wendy", "POST", `/work/${jobs[0].taskId}/ask`, { body: asking });
  await call("wendy", "PUT", "/tools/wendys_tool", {
    body: { description: "Does it.", inputSchema: { type: "object" }, queue: "gpu" },
  });

  // Later than all of Ann's: her cursors mean nothing in a list of these.
  served.clock.advance(1_000);
  for (const who of identified ? (["bob", "mallory"] as const) : []) {
    for (const namespace of ["default", "documents"]) {
      const task = namespace === "default" ? { task: { status: "completed" } } : {};
      await make(who, `/namespaces/${namespace}/records`, { body: { id: OWN, ...task } });
    }
  }
  const own = identified
    ? OWN
    : await make("bob", "/namespaces/default/records", { body: { task: { status: "failed" } } });
  await served.start();
  const job = await claim("mallory", "mallorys-claim");

  async function claim(who: Who, claimId: string): Promise<Job> {
    const body = { claimId, waitMs: 30_000, leaseMs: 3_600_000 };
    const { claims } = (await call(who, "POST", "/queues/gpu/claims", { body })).body;
    return claims[0];
  }

  const all = served.deps.store.as({
    kind: "identified",
    issuer: "test",
    subject: "root",
    scopes: ["admin"],
    expiresAt: null,
  });
  const seen = async (): Promise<string> => {
    const records = ids.map(({ namespace, id, owner }) => {
      const whose = owner === null && !identified ? { any: true as const } : { owner };
      return Promise.all([all.get(namespace, id, whose), all.revisions(namespace, id, whose)]);
    });
    const list = identified ? await all.list("default", { owner: annOwner }) : [];
    const work = await Promise.all(tasks.map((id) => served.tasks.get(someone("a"), id)));
    return JSON.stringify([await Promise.all(records), list, work, await served.deps.remoteTools.list()]);
  };

  const secrets: readonly Secret[] = [
    // Whoever has one that was minted for nobody may use it.
    ...(identified ? ids.filter(({ owner }) => owner === annOwner).map(({ id }) => ["id", id] as const) : []),
    ...ids.filter(({ owner }) => owner === ALICE).map(({ id }) => ["kept id", id] as const),
    ...SHARED.map((name) => ["namespace", name] as const),
    ["owner", annOwner] as const,
    ["owner", ALICE] as const,
    ["key", KEY] as const,
    ...(identified ? [["cursor", page.body.nextCursor as string] as const] : []),
    ["version", String(WRITES + 1)] as const,
    ...tasks.map((id) => ["task", id] as const),
    ...jobs.map(({ lease }) => ["lease", lease] as const),
    ["claim", "wendys-claim-1"] as const,
    ["tool", "wendys_tool"] as const,
  ].map(([kind, value]) => ({ kind, value }));
  if (secrets.some(({ value }) => typeof value !== "string"))
    throw new Error(`A secret is missing: ${JSON.stringify(secrets)}`);
  return { served, identified, secrets, own, job, jobs, call, send, seen };
}

/** Well formed, of the same length and of the same characters, and nobody was ever given it. */
export function neverGiven({ kind, value }: Secret): string {
  if (kind === "cursor") {
    const [, id] = JSON.parse(new TextDecoder().decode(decodeBase64url(value) ?? undefined)) as [number, string];
    return toCursor({ createdAt: 1_000_000_000_000, id: scrambled(id) });
  }
  if (kind === "version") return String(Number(value) + 2);
  return value.length === 43 ? randomTaskId((bytes) => crypto.getRandomValues(bytes)) : scrambled(value);
}

function scrambled(text: string): string {
  const among = (letters: string): string => letters.charAt(Math.floor(Math.random() * letters.length));
  for (;;) {
    const other = text
      .replace(/[a-z]/g, () => among("abcdefghijklmnopqrstuvwxyz"))
      .replace(/[A-Z]/g, () => among("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
      .replace(/\d/g, () => among("123456789"));
    if (other !== text) return other;
  }
}

async function tokenEntry([token, scopes]: [string, readonly Scope[]]) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return { sha256: Buffer.from(digest).toString("hex"), subject: token, scopes };
}
