// The store API under the same attack as the other doors: what one caller has, another tries at every place of every
// operation. What an operation takes is told below; that there is such an operation, by the routes' own table.
import { describe, expect, it } from "vitest";
import { authenticator } from "../src/auth";
import type { StoreDeps } from "../src/store-api/deps";
import { operationsOf, storeRoutes } from "../src/store-api/routes";
import { serveStore } from "./support/store";
import {
  ALICE,
  HIDDEN,
  KEYED,
  kinds,
  neverGiven,
  storeWorld,
  type Kind,
  type Secret,
  type StoreWorld,
  type Who,
} from "./support/store-victim";

/** What a request of an operation holds; `params` stand in its path. */
type Call = {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
};

/** A place for a value. `takes` says whose value means something there: its owner gets another answer than a stranger. */
type Place = {
  readonly at: string;
  readonly takes?: Kind;
  /** What is tried there; left out, everything. */
  readonly only?: readonly Kind[];
  readonly put: (value: string) => Call;
};

type Way = {
  /** A call of the attacker's own that changes nothing, however often it is made. */
  readonly usual: (world: World) => Call;
  readonly places?: (world: World, usual: Call) => readonly Place[];
};

type Attacker = Extract<Who, "bob" | "mallory">;
type World = StoreWorld & { readonly attacker: Attacker };

const STALE = { "If-Match": '"7"' };
const ofOwn = (more: Omit<Call, "params"> = {}) => ({
  usual: ({ own }: World): Call => ({ params: { namespace: "default", id: own }, ...more }),
});
const QUESTION = {
  method: "elicitation/create",
  params: { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } },
};

const withQuery = (usual: Call, name: string, takes?: Kind): Place => ({
  at: `query.${name}`,
  ...(takes ? { takes } : {}),
  put: (value) => ({ ...usual, query: `?${name}=${encodeURIComponent(value)}` }),
});

/** Reports of a worker that has the task of another, or a lease of another task. */
const ofWork = (more: object, isHarmless = false): Way => ({
  usual: ({ job }) => ({ params: { task: job.taskId }, body: { lease: isHarmless ? job.lease : "none", ...more } }),
  places: ({ job, jobs: [first, second] }) =>
    [job, first, second].map(({ taskId }, nth) => ({
      at: `body.lease on task ${nth}`,
      ...(nth === 0 ? {} : { takes: "lease" as const }),
      put: (lease) => ({ params: { task: taskId }, body: { ...more, lease } }),
    })),
});

const IDS: readonly Kind[] = ["id", "kept id", "task"];

/** What each operation takes, and where. One that is not here fails the tests. */
const ways: Readonly<Record<string, Way>> = {
  "POST /namespaces/:namespace/records": {
    usual: ({ own }) => ({ params: { namespace: "default" }, body: { id: own, document: { a: "x" } } }),
    places: () => [
      ...["default", "documents"].map((namespace): Place => ({
        at: `body.id in ${namespace}`,
        takes: "id",
        put: (id) => ({ params: { namespace }, body: { id } }),
      })),
      ...([["the same record", KEYED] as const, ["another record", {}] as const] as const).map(
        ([which, body]): Place => ({
          at: `Idempotency-Key of ${which}`,
          takes: "key",
          put: (key) => ({ params: { namespace: "default" }, body, headers: { "Idempotency-Key": key } }),
        }),
      ),
    ],
  },
  "GET /namespaces/:namespace/records": {
    usual: () => ({ params: { namespace: "default" } }),
    places: (_, usual) => [withQuery(usual, "cursor", "cursor"), withQuery(usual, "status"), withQuery(usual, "limit")],
  },
  "GET /namespaces/:namespace/records/:id": ofOwn(),
  "PUT /namespaces/:namespace/records/:id": ofOwn({ body: { document: { a: "x" } }, headers: STALE }),
  "PATCH /namespaces/:namespace/records/:id": ofOwn({ body: { document: { a: "x" } }, headers: STALE }),
  "DELETE /namespaces/:namespace/records/:id": {
    usual: () => ({ params: { namespace: "default", id: "nobody's" } }),
  },
  "PUT /namespaces/:namespace/records/:id/status": ofOwn({ body: { status: "working", document: { a: "x" } } }),
  "PUT /namespaces/:namespace/records/:id/questions": ofOwn({ body: { inputRequests: { a: "x" } } }),
  "POST /namespaces/:namespace/records/:id/responses": ofOwn({ body: { inputResponses: { a: "x" } } }),
  "POST /namespaces/:namespace/records/:id/cancel": ofOwn(),
  "GET /namespaces/:namespace/records/:id/events": {
    ...ofOwn(),
    places: (_, usual) => [
      withQuery(usual, "after"),
      ...["default", "documents"].flatMap((namespace) =>
        [
          { query: "?waitMs=30000", headers: {} },
          { query: "", headers: { Accept: "text/event-stream" } },
        ].map(({ query, headers }) => ({
          at: `path.id of what is waited for in ${namespace}, ${JSON.stringify(headers)}`,
          only: IDS,
          put: (id: string) => ({ params: { namespace, id }, query, headers }),
        })),
      ),
    ],
  },
  "GET /namespaces/:namespace/records/:id/revisions": ofOwn(),
  "POST /namespaces/:namespace/cleanup": {
    usual: () => ({ params: { namespace: "default" }, body: { defaultTtlMs: 0 } }),
  },
  "POST /queues/:queue/claims": {
    usual: () => ({ params: { queue: "gpu" }, body: { claimId: "mine", worker: "w", tools: ["render"] } }),
    places: (_, { params }) => [
      { at: "body.claimId", takes: "claim", put: (claimId) => ({ params: params ?? {}, body: { claimId, max: 100 } }) },
    ],
  },
  "POST /work/:task/heartbeat": ofWork({}, true),
  "POST /work/:task/progress": ofWork({ progress: { message: "x" } }, true),
  "POST /work/:task/ask": ofWork({ questions: { q: QUESTION } }),
  "POST /work/:task/complete": ofWork({ result: { content: [] } }),
  "POST /work/:task/fail": ofWork({ error: { message: "x" } }),
  "POST /work/:task/release": ofWork({}),
  "GET /tools": { usual: () => ({}) },
  "GET /tools/:name": { usual: () => ({ params: { name: "none" } }) },
  "PUT /tools/:name": {
    usual: () => ({
      params: { name: "mine" },
      body: { name: "mine", description: "x", inputSchema: { type: "object" }, queue: "gpu" },
    }),
  },
  "DELETE /tools/:name": { usual: () => ({ params: { name: "none" } }) },
};

/** Ways to say for whom a call is, and to say it so that a check might miss it. */
const WHOSE = ["any=true", "unowned=true", `owner=${encodeURIComponent(ALICE)}`, "%61ny=true", "any", "x=1&any=true"];

const NAMESPACES = ["default", "documents", "strict", "lenient", "none", "files"];

/** What stands in the path, however the record is asked for. */
function inPath(operation: string, usual: Call): readonly Place[] {
  const names = [...operation.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const takes: Readonly<Record<string, Kind>> = { namespace: "namespace", task: "task", name: "tool" };
  const simple = names.map((name): Place => {
    const kind = takes[name];
    const put = (value: string): Call => ({ ...usual, params: { ...usual.params, [name]: value } });
    return { at: `path.${name}`, ...(kind && operation !== "PUT /tools/:name" ? { takes: kind } : {}), put };
  });
  if (!names.includes("id")) return simple;
  const put = (over: Call) => (id: string) => ({
    ...usual,
    ...over,
    params: { ...usual.params, ...over.params, id },
    headers: over.headers ?? {},
  });
  return [
    ...simple,
    ...NAMESPACES.map((namespace) => ({ at: `path.id in ${namespace}`, put: put({ params: { namespace } }) })),
    ...["default", "strict"].flatMap((namespace) =>
      WHOSE.map((whose) => ({
        at: `path.id in ${namespace}?${whose}`,
        only: IDS,
        put: put({ params: { namespace }, query: `?${whose}` }),
      })),
    ),
    ...["*", '"1"', '"41"', 'W/"41"'].flatMap((version) =>
      ["If-Match", "If-None-Match"].map((name) => ({
        at: `path.id with ${name} ${version}`,
        only: IDS,
        put: put({ headers: { [name]: version } }),
      })),
    ),
  ];
}

/** What any request may carry. */
function everywhere(usual: Call): readonly Place[] {
  const header = (name: string, of = (value: string) => value): Place => ({
    at: name,
    put: (value) => ({ ...usual, headers: { ...usual.headers, [name]: of(value) } }),
  });
  const members = Object.keys(usual.body ?? {});
  return [
    header("Idempotency-Key"),
    header("Last-Event-ID"),
    header("Mcp-Session-Id"),
    header("If-Match", (value) => `"${value}"`),
    header("If-None-Match", (value) => `"${value}"`),
    ...["owner", "cursor", "after", "waitMs", "any", "unowned", "id", "space"].map((name) => withQuery(usual, name)),
    ...members
      .filter((name) => !["id", "lease", "claimId"].includes(name))
      .map((name) => ({
        at: `body.${name}`,
        put: (value: string) => ({ ...usual, body: { ...usual.body, [name]: { x: value } } }),
      })),
    { at: "another member of the body", put: (value) => ({ ...usual, body: { ...usual.body, owner: value } }) },
  ];
}

/** What a worker may do with what is another's: the trust in it, or in whoever shows a lease, is meant. */
function isMeant({ attacker, jobs }: World, { at, put }: Place, { kind, value }: Secret): boolean {
  if (attacker === "bob") return false;
  if (kind === "owner") return at === "query.owner";
  if (kind === "namespace" || kind === "tool") return true;
  // That there is such a task it may know; what it gets by it is looked at below.
  if (kind === "task") return at === "path.task";
  if (kind === "lease") return jobs.some((job) => job.lease === value && job.taskId === put(value).params?.["task"]);
  // Where one worker keeps the records of all, another does; and it may ask for any.
  if (kind === "kept id") return /^path.id in (lenient|none|files|strict\?)/.test(at);
  return kind === "id" && at.includes("?");
}

const addressOf = (path: string, { params = {}, query = "" }: Call): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? "none")) + query;

type Read = { readonly text: string; readonly same: string };

/** All that the caller gets. `same` leaves out what it sent itself, and what is another thing each time it is made. */
function reader(world: World, operation: string) {
  const [method, path] = operation.split(" ") as [string, string];
  return async (who: Who, call: Call, sent: string): Promise<Read> => {
    const { headers = {}, body } = call;
    const response = await world.send(who, method, addressOf(path, call), {
      headers,
      ...(method !== "GET" && body ? { body } : {}),
    });
    const told = [...response.headers].filter(([name]) => name !== "date");
    const isOpen = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const text = JSON.stringify([response.status, told, isOpen ? "a stream" : await response.text()]);
    if (isOpen) await response.body?.cancel();
    const same = text
      .replaceAll(/\b\d{13}\b/g, "<time>")
      .replaceAll(/^\d+$/.test(sent) ? new RegExp(`\\b${sent}\\b`, "g") : asText(sent), "<sent>")
      .replaceAll(/[\w-]{43,}/g, (made) => `<${made.length} characters>`);
    return { text, same };
  };
}

/** A JSON text as it stands within another. */
const asText = (text: string): string => JSON.stringify(JSON.stringify(text)).slice(1, -1);

const { deps } = await serveStore();
const operations = operationsOf(deps);
const rows = operations.flatMap(({ method, path }) =>
  [
    { callers: "identified", attacker: "bob" } as const,
    { callers: "identified", attacker: "mallory" } as const,
    { callers: "anonymous", attacker: "bob" } as const,
  ].map((who) => ({ ...who, operation: `${method} ${path}` })),
);

describe("every operation", () => {
  it("is attacked, and none is told of that is gone", () => {
    expect([...new Set(rows.map(({ operation }) => operation))].sort()).toEqual(Object.keys(ways).sort());
  });
});

describe("what one caller has is worth to another what nobody has (F03)", () => {
  it.each(rows)("$callers callers, $attacker at $operation", async ({ callers, attacker, operation }) => {
    const way = ways[operation];
    if (!way) throw new Error(`Say in this file what ${operation} takes, and where.`);
    const world: World = { ...(await storeWorld(callers === "identified")), attacker };
    const usual = way.usual(world);
    const ofCall = everywhere(usual);
    const places = [...inPath(operation, usual), ...ofCall, ...(way.places?.(world, usual) ?? [])];
    const oneOfEach = kinds.flatMap((kind) => world.secrets.find((secret) => secret.kind === kind) ?? []);
    const read = reader(world, operation);
    // Whatever the usual call does, it has done it by then.
    await read(attacker, usual, "nothing that was sent");
    const before = await world.seen();
    const nevers = new Map(world.secrets.map((secret) => [secret, neverGiven(secret)]));
    for (const place of places) {
      const tried = (ofCall.includes(place) ? oneOfEach : world.secrets).filter(
        ({ kind }) => !place.only || place.only.includes(kind),
      );
      for (const secret of tried.filter((one) => !isMeant(world, place, one))) {
        const { kind, value } = secret;
        const never = nevers.get(secret) as string;
        const call = place.put(value);
        const stolen = await read(attacker, call, value);
        const guessed = await read(attacker, place.put(never), never);
        const told = { at: place.at, kind, value };
        const learned = learnedFrom(world, stolen, call);
        expect({ ...told, answer: stolen.same, learned }).toEqual({ ...told, answer: guessed.same, learned: [] });
      }
      expect([place.at, await world.seen()]).toEqual([place.at, before]);
    }
    // Each of these places is one: for whom the value was made it means something.
    if (callers === "anonymous") return;
    for (const place of places.filter(({ takes }) => takes))
      expect([place.at, await means(place)]).toEqual([place.at, true]);

    async function means({ takes, put }: Place): Promise<boolean> {
      const owner = takes === "id" || takes === "key" || takes === "cursor" ? "ann" : "wendy";
      for (const secret of world.secrets.filter(({ kind }) => kind === takes)) {
        const never = neverGiven(secret);
        const given = await read(owner, put(secret.value), secret.value);
        if (given.same !== (await read(owner, put(never), never)).same) return true;
      }
      return false;
    }
  });
});

/** What the answer tells of Ann's and Wendy's that the call did not hold itself. Workers share their tools. */
function learnedFrom({ secrets, attacker }: World, { text }: Read, { query = "", ...call }: Call): readonly string[] {
  const sent = JSON.stringify(call) + decodeURIComponent(query);
  const others = secrets.filter(({ kind, value }) => value.length > 9 && (attacker === "bob" || kind !== "tool"));
  return [...others.map(({ value }) => value), HIDDEN].filter((other) => !sent.includes(other) && text.includes(other));
}

describe("a lease", () => {
  it("of another worker's task is not had by knowing the task, the claim or one's own lease (W01)", async () => {
    const { call, seen, jobs, job } = await storeWorld(true);
    const before = await seen();
    const acts: readonly (readonly [string, object])[] = [
      ["heartbeat", {}],
      ["progress", { progress: { message: "x" }, leaseMs: 60_000 }],
      ["ask", { questions: { q: QUESTION } }],
      ["complete", { result: { content: [] } }],
      ["fail", { error: { message: "x" } }],
      ["release", {}],
    ];
    const claims = await call("mallory", "POST", "/queues/gpu/claims", {
      body: { claimId: "wendys-claim-1", max: 100 },
    });
    expect(claims.body).toEqual({ claims: [] });
    for (const [act, more] of acts) {
      for (const { taskId } of jobs) {
        const answers = [];
        for (const lease of [job.lease, crypto.randomUUID(), taskId, "wendys-claim-1"]) {
          const body = { lease, ...more };
          const { status, text, headers } = await call("mallory", "POST", `/work/${taskId}/${act}`, { body });
          answers.push(JSON.stringify([status, text, [...headers]]));
        }
        expect([act, new Set(answers).size]).toEqual([act, 1]);
        expect(answers[0]).toContain("lease_lost");
        for (const told of [...jobs.map(({ lease }) => lease), HIDDEN]) expect(answers[0]).not.toContain(told);
      }
    }
    expect(await seen()).toBe(before);
    for (const { taskId, lease } of jobs)
      expect((await call("wendy", "POST", `/work/${taskId}/heartbeat`, { body: { lease } })).body.kind).toBe("held");
  });
});

describe("a client's credential", () => {
  const opens = (which: string) => operations.filter((operation) => operation.opens === which);

  it("is 403 at each door of workers, in the same bytes whether or not the thing is there", async () => {
    const { call, seen, jobs } = await storeWorld(true);
    const before = await seen();
    const there = { task: jobs[0].taskId, queue: "gpu", name: "wendys_tool" };
    const nowhere = { task: jobs[0].taskId.toLowerCase(), queue: "nothing", name: "nobodys" };
    const told = new Set<string>();
    for (const { method, path, hasBody } of opens("workers")) {
      for (const params of [there, nowhere]) {
        for (const body of hasBody ? [{ lease: jobs[0].lease, claimId: "wendys-claim-1" }, {}] : [undefined]) {
          const answer = await call("bob", method, addressOf(path, { params }), { body });
          told.add(JSON.stringify([answer.status, answer.text, [...answer.headers]]));
        }
      }
    }
    expect(told.size).toBe(1);
    expect([...told][0]).toMatch(/^\[403,.*insufficient_scope/);
    expect(await seen()).toBe(before);
  });

  it("finds no namespace where all ids lie together, at any operation (B3)", async () => {
    const { call, seen } = await storeWorld(true);
    const before = await seen();
    for (const { method, path, hasBody } of operations.filter(({ path }) => path.includes(":namespace"))) {
      const answers = [];
      for (const namespace of ["strict", "lenient", "none", "files", "nowhere", "__proto__"]) {
        const address = addressOf(path, { params: { namespace, id: `kept in ${namespace}` } });
        const answer = await call("bob", method, address, hasBody ? { body: {} } : {});
        answers.push(JSON.stringify([answer.status, answer.text, [...answer.headers]]));
      }
      expect([method, path, new Set(answers).size]).toEqual([method, path, 1]);
      expect(answers[0]).toMatch(/^\[404,.*No such namespace/);
    }
    expect(await seen()).toBe(before);
  });

  it("neither cleans up nor reads revisions, and acts for nobody else", async () => {
    const { call, seen, own } = await storeWorld(true);
    const before = await seen();
    const refused: readonly (readonly [string, string, object?])[] = [
      ["POST", "/namespaces/default/cleanup", { defaultTtlMs: 0 }],
      ["POST", "/namespaces/documents/cleanup", { defaultTtlMs: 0 }],
      ["GET", `/namespaces/documents/records/${encodeURIComponent(own)}/revisions`],
      ["GET", "/namespaces/documents/records/hers%2Fin%20documents/revisions"],
      ...["any=true", "unowned=true", "owner=x"].flatMap((whose) => [
        ["GET", `/namespaces/default/records/${encodeURIComponent(own)}?${whose}`] as const,
        ["GET", `/namespaces/default/records?${whose}`] as const,
        ["POST", `/namespaces/default/records?${whose}`, {}] as const,
      ]),
    ];
    for (const [method, path, body] of refused) {
      const { status, body: answer } = await call("bob", method, path, { body });
      expect([path, status, answer.error.code]).toEqual([path, 403, "insufficient_scope"]);
    }
    // A worker is no admin where each owner's records are its own.
    for (const [method, path, body] of refused.slice(0, 4))
      expect([path, (await call("mallory", method, path, { body })).status]).toEqual([path, 403]);
    expect(await seen()).toBe(before);
  });
});

/** What is asked of a record by somebody who may not see it, or is not there: all that there is. */
const below = (id: string): readonly (readonly [string, string, object?])[] => {
  const record = `/records/${encodeURIComponent(id)}`;
  return [
    ["GET", record],
    ["PUT", record, { document: {} }],
    ["PATCH", record, { document: { a: 1 } }],
    ["DELETE", record],
    ["PUT", `${record}/status`, { status: "failed" }],
    ["PUT", `${record}/questions`, { inputRequests: { q: 1 } }],
    ["POST", `${record}/responses`, { inputResponses: { q: 1 } }],
    ["POST", `${record}/cancel`],
    ["GET", `${record}/events`],
    ["GET", `${record}/events?waitMs=30000`],
    ["GET", `${record}/revisions`],
  ];
};

describe("a worker that asks for an owner", () => {
  const [a, b, nobody, any] = ["owner=a", "owner=b", "unowned=true", "any=true"];

  /** Who sees what, by the rule of the namespace. */
  const rules = [
    ["strict", "of a", [a, any]],
    ["strict", "of b", [b, any]],
    ["strict", "of nobody", [nobody, any, ""]],
    ["lenient", "of a", [a, nobody, any, ""]],
    ["lenient", "of b", [b, nobody, any, ""]],
    ["lenient", "of nobody", [a, b, nobody, any, ""]],
    ["none", "of a", [a, b, nobody, any, ""]],
  ] as const;

  it.each(rules)(
    "in %s sees a record %s if it may, and else what is not there, byte for byte (A11, B5)",
    async (namespace, id, may) => {
      const { call } = await serveStore();
      const as = "wendy";
      const path = (below: string, whose: string): string =>
        `/namespaces/${namespace}${below}${whose === "" ? "" : `${below.includes("?") ? "&" : "?"}${whose}`}`;
      for (const [owner, whose] of [
        ["a", a],
        ["b", b],
        ["nobody", nobody],
      ] as const)
        expect((await call("POST", path("/records", whose), { as, body: { id: `of ${owner}` } })).status).toBe(201);
      const asSeen = async () => (await call("GET", path(`/records/${id}`, any), { as })).text;
      const before = await asSeen();
      for (const whose of [a, b, nobody, any, ""]) {
        const sees = may.includes(whose as never);
        if (sees) {
          expect([whose, (await call("GET", path(`/records/${id}`, whose), { as })).status]).toEqual([whose, 200]);
          continue;
        }
        for (const [nth, [method, address, body]] of below(id).entries()) {
          const [, missing = ""] = below("of none")[nth] ?? [];
          const answers = [];
          for (const each of [address, missing]) {
            const answer = await call(method, path(each, whose), { as, ...(body ? { body } : {}) });
            answers.push(JSON.stringify([answer.status, answer.text, [...answer.headers]]));
          }
          expect([whose, method, address, answers[0]]).toEqual([whose, method, address, answers[1]]);
        }
      }
      expect(await asSeen()).toBe(before);
      // What is listed is what is seen; one of the namespaces has no list but for admins.
      for (const whose of [a, b, nobody, any]) {
        const { body, status } = await call("GET", path("/records", whose), { as });
        if (namespace === "strict") expect(status).toBe(404);
        else
          expect([whose, body.records.some((record: { id: string }) => record.id === id)]).toEqual([
            whose,
            may.includes(whose as never),
          ]);
      }
    },
  );

  it("has keys that are that owner's, where all ids lie together", async () => {
    const { call } = await serveStore();
    const headers = { "Idempotency-Key": "one-key" };
    const create = (whose: string, body: object) =>
      call("POST", `/namespaces/strict/records?${whose}`, { as: "wendy", headers, body });
    const first = await create(a, { document: { note: HIDDEN } });
    for (const whose of [b, nobody]) {
      const { status, body, text } = await create(whose, {});
      expect([whose, status, body.id === first.body.id, text.includes(HIDDEN)]).toEqual([whose, 201, false, false]);
    }
    expect((await create(a, { document: { note: HIDDEN } })).body).toMatchObject({ id: first.body.id, changed: false });
    expect((await create(a, {})).status).toBe(409);
  });

  it("makes nothing over what another owner has, and is not told whose it is", async () => {
    const { call } = await serveStore();
    const as = "wendy";
    await call("POST", `/namespaces/strict/records?${a}`, { as, body: { id: "r", document: { note: HIDDEN } } });
    const { status, text } = await call("POST", `/namespaces/strict/records?${b}`, { as, body: { id: "r" } });
    expect([status, text.includes(HIDDEN)]).toEqual([409, false]);
    expect(text).not.toContain('"a"');
    expect((await call("GET", `/namespaces/strict/records/r?${a}`, { as })).body).toMatchObject({ version: 1 });
  });
});

describe("a stream of one record", () => {
  it("tells nothing of another, whichever event it goes on after", async () => {
    const { call, send, secrets, own } = await storeWorld(true);
    const hers = secrets.find(({ kind }) => kind === "id")?.value ?? "";
    const [record, theirs] = [own, hers].map((id) => `/namespaces/default/records/${encodeURIComponent(id)}`);
    const headers = { Accept: "text/event-stream" };
    const streams = await Promise.all(
      ["1", "41", "43", "0"].map((event) =>
        send("bob", "GET", `${record}/events`, { headers: { ...headers, "Last-Event-ID": event } }),
      ),
    );
    await call("ann", "PATCH", `${theirs}`, { body: { document: { more: HIDDEN } } });
    await call("ann", "POST", `${theirs}/cancel`);
    await call("bob", "PATCH", `${record}`, { body: { document: { mine: true } } });
    expect((await call("bob", "DELETE", `${record}`)).body).toEqual({ removed: true });
    const texts = await Promise.all(streams.map((stream) => stream.text()));
    for (const text of texts) {
      expect(text).toMatch(/^: open\n\n/);
      expect(text).not.toContain(HIDDEN);
      expect(text).not.toContain("cancelled");
    }
  });
});

describe("a credential that is missing, empty or wrong (F02)", () => {
  it("is 401 at every operation, in the same bytes, and reaches nothing", async () => {
    const served = await serveStore();
    const { reached, deps: watched } = watching(served.deps);
    const routes = storeRoutes(watched, authenticator(watched.config, { clock: Date.now }));
    const request = (method: string, path: string, authorization: string | null, hasBody?: true): Promise<Response> => {
      const params = { namespace: "default", id: "r", task: "t", queue: "gpu", name: "upscale" };
      const headers = new Headers(authorization === null ? {} : { Authorization: authorization });
      if (hasBody) headers.set("Content-Type", "application/json");
      const init = { method, headers, ...(hasBody ? { body: "{}" } : {}) };
      return Promise.resolve(routes.request(`http://localhost${addressOf(path, { params })}`, init));
    };
    const wrong = [null, "", "Bearer", "Bearer ", "Bearer annn", "Basic YW5uOg==", "Bearer ann, Bearer ann", "ann"];
    const told = new Set<string>();
    for (const { method, path, hasBody } of operations) {
      for (const credential of wrong) {
        const response = await request(method, path, credential, hasBody);
        expect([method, path, credential, response.status]).toEqual([method, path, credential, 401]);
        expect(response.headers.get("www-authenticate")).toMatch(/^Bearer /);
        told.add(JSON.stringify([[...response.headers], await response.text()]));
      }
    }
    expect(told.size).toBe(1);
    expect(reached).toEqual([]);
    for (const { method, path, hasBody } of operations) {
      const { status } = await request(method, path, "Bearer root", hasBody);
      expect([method, path, status === 401 || status === 403]).toEqual([method, path, false]);
    }
    expect(new Set(reached)).toEqual(new Set(["store", "work", "remoteTools"]));
  });
});

/** What stands behind the door, and which parts of it were asked for anything. */
function watching(deps: StoreDeps): { readonly deps: StoreDeps; readonly reached: string[] } {
  const reached: string[] = [];
  const watch = <T extends object>(part: string, target: T): T =>
    new Proxy(target, {
      get(inner, name) {
        reached.push(part);
        const member: unknown = Reflect.get(inner, name);
        return typeof member === "function" ? (member.bind(inner) as unknown) : member;
      },
    });
  const { store, work, remoteTools, catalog } = deps;
  return {
    reached,
    deps: {
      ...deps,
      store: watch("store", store),
      work: watch("work", work),
      remoteTools: watch("remoteTools", remoteTools),
      catalog: watch("catalog", catalog),
    },
  };
}
