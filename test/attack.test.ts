// Two callers. One has tasks, sessions, questions and tokens of every kind; the other tries them at every place of every
// method of every revision. What a method takes is told below; that there is such a method, by the tables themselves.
import { describe, expect, it } from "vitest";
import { mcp20250326 } from "../src/mcp/2025-03-26/methods";
import { mcp20250618 } from "../src/mcp/2025-06-18/methods";
import { mcp20251125 } from "../src/mcp/2025-11-25/methods";
import { methods as methods20260728 } from "../src/mcp/2026-07-28/methods";
import { LEGACY, MODERN, type Legacy, type Revision } from "../src/mcp/era";
import type { Principal } from "../src/service/principal";
import { HELPER_TOOLS } from "../src/tool/declaration";
import { isStream } from "./support/legacy";
import { withTasks, type Wire } from "./support/mcp";
import { ANSWER, KEY, KEYED, kinds, neverGiven, world, type Kind, type Who, type World } from "./support/victim";

type Call = {
  readonly params?: Wire;
  readonly meta?: object;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly id?: string;
  readonly capabilities?: object;
};

/** A place for a value. `takes` says whose value means something there: its owner gets another answer than a stranger. */
type Place = { readonly at: string; readonly takes?: Kind; readonly put: (value: string) => Call };

type Way = {
  /** A call that is well answered, for the places that all methods have. */
  readonly usual: (world: World) => Call;
  readonly places?: (world: World) => readonly Place[];
};

const tables: Readonly<Record<Revision, (principal: Principal) => object>> = {
  "2026-07-28": () => methods20260728,
  "2025-11-25": (principal) => mcp20251125.methods(principal),
  "2025-06-18": (principal) => mcp20250618.methods(principal),
  "2025-03-26": (principal) => mcp20250326.methods(principal),
};

const taskIn = (more: object = {}): Place => ({
  at: "params.taskId",
  takes: "task",
  put: (taskId) => ({ params: { taskId, ...more } }),
});

/** What each method takes, and where. One that is not here fails the tests. */
const ways: Readonly<Record<string, Way>> = {
  ping: { usual: () => ({}) },
  initialize: {
    usual: () => ({
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "b", version: "1" } },
    }),
  },
  "server/discover": { usual: () => ({}) },
  "logging/setLevel": { usual: () => ({ params: { level: "info" } }) },
  "tools/list": {
    usual: () => ({}),
    places: () => [{ at: "params.cursor", put: (cursor) => ({ params: { cursor } }) }],
  },
  "tools/call": {
    usual: () => ({ params: { name: "plain" } }),
    places: (world) => [...ofCalls, ...ofRounds(world), ...ofHelpers],
  },
  "tasks/get": { usual: ({ own }) => ({ params: { taskId: own.working } }), places: () => [taskIn()] },
  "tasks/result": { usual: ({ own }) => ({ params: { taskId: own.settled } }), places: () => [taskIn()] },
  "tasks/cancel": { usual: ({ own }) => ({ params: { taskId: own.settled } }), places: () => [taskIn()] },
  "tasks/update": {
    usual: ({ own }) => ({ params: { taskId: own.settled, inputResponses: {} } }),
    places: () => [taskIn({ inputResponses: { ask: ANSWER } })],
  },
  "tasks/list": {
    usual: () => ({ params: { cursor: "none" } }),
    places: () => [{ at: "params.cursor", takes: "cursor", put: (cursor) => ({ params: { cursor } }) }],
  },
  "subscriptions/listen": {
    usual: ({ own }) => ({ params: { notifications: { taskIds: [own.settled] } } }),
    places: () => [
      {
        at: "params.notifications.taskIds",
        takes: "task",
        put: (taskId) => ({ params: { notifications: { taskIds: [taskId] } } }),
      },
    ],
  },
};

const quick = (args: object): Wire => ({ name: "quick", arguments: args });
const ofCalls: readonly Place[] = [
  {
    at: "Idempotency-Key of the same call",
    put: (key) => ({ params: quick(KEYED), headers: { "Idempotency-Key": key } }),
  },
  {
    at: "Idempotency-Key of another call",
    takes: "key",
    put: (key) => ({ params: quick({ note: "header" }), headers: { "Idempotency-Key": key } }),
  },
  {
    at: "params._meta idempotency key of another call",
    takes: "key",
    put: (key) => ({ params: quick({ note: "meta" }), meta: { [KEY]: key } }),
  },
  { at: "an argument of a tool", put: (note) => ({ params: { name: "plain", arguments: { note } } }) },
  { at: "the name of a tool", put: (name) => ({ params: { name } }) },
];

const forms = { elicitation: {} };
const ofRounds = ({ asking }: World): readonly Place[] =>
  (
    [
      ["secretive", {}],
      ["whisper", {}],
      ["task_result", { taskId: asking }],
    ] as const
  ).map(([name, args]) => ({
    at: `params.requestState of ${name}`,
    takes: "state",
    put: (requestState) => ({
      params: { name, arguments: args, requestState, inputResponses: { ask: ANSWER } },
      capabilities: forms,
    }),
  }));

const helperPlaces: Readonly<Record<string, (value: string) => object>> = {
  task_result: (taskId) => ({ taskId, waitMs: 0 }),
  task_answer: (taskId) => ({ taskId, answers: { ask: ANSWER } }),
  task_cancel: (taskId) => ({ taskId }),
  task_list: (cursor) => ({ cursor }),
};
const ofHelpers = HELPER_TOOLS.map((name): Place => {
  const argumentsWith = helperPlaces[name];
  if (!argumentsWith) throw new Error(`Say in this file what ${name} takes, and where.`);
  return {
    at: `an argument of ${name}`,
    takes: name === "task_list" ? "cursor" : "task",
    put: (value) => ({ params: { name, arguments: argumentsWith(value) } }),
  };
});

/** What any request may carry. */
function everywhere(usual: Call, hasSessions: boolean): readonly Place[] {
  const header = (name: string): Place => ({
    at: name,
    put: (value) => ({ ...usual, headers: { [name]: value } }),
  });
  const meta = (name: string, of: (value: string) => unknown = (value) => value): Place => ({
    at: `params._meta ${name}`,
    put: (value) => ({ ...usual, meta: { [name]: of(value) } }),
  });
  return [
    { ...header("Mcp-Session-Id"), ...(hasSessions ? { takes: "session" } : {}) },
    header("Idempotency-Key"),
    header("Last-Event-ID"),
    { at: "id", put: (id) => ({ ...usual, id }) },
    meta("progressToken"),
    meta(KEY),
    meta("io.modelcontextprotocol/related-task", (taskId) => ({ taskId })),
    meta("io.modelcontextprotocol/subscriptionId"),
  ];
}

/** The tests run side by side, so each ends what it began. */
async function within(callers: string, version: Legacy | undefined, attack: (world: World) => Promise<void>) {
  const made = await world(callers === "identified", version);
  try {
    await attack(made);
  } finally {
    await Promise.all(Object.values(made.streams).map((stream) => stream.leave()));
  }
}

/** As each revision has its requests sent. One JSON object is asked for, so that no answer depends on how long it takes. */
function sender(world: World, revision: Revision, method: string, batch: boolean) {
  const accept = method === "subscriptions/listen" ? "text/event-stream" : "application/json";
  return async (
    who: Who,
    { params = {}, meta, headers, id = "1", capabilities = withTasks }: Call,
  ): Promise<Response> => {
    const all = { Accept: accept, ...headers };
    if (revision === "2026-07-28")
      return world.served.send(method, params, {
        ...world.token(who),
        id,
        capabilities,
        headers: all,
        ...(meta ? { meta } : {}),
      });
    const message = { jsonrpc: "2.0", id, method, params: meta ? { ...params, _meta: meta } : params };
    return world.clients[who].post(batch ? [message] : message, { headers: all });
  };
}

type Read = { readonly text: string; readonly same: string };

/** All that the caller gets. `same` leaves out what it sent itself, and what is another thing each time it is made. */
async function read(response: Response, sent: string): Promise<Read> {
  const headers = [...response.headers].filter(([name]) => name !== "date");
  const text = JSON.stringify([response.status, headers, await response.text()]);
  const same = text
    .replaceAll(sent, "<sent>")
    .replace(/[\w-]{43,}/g, (made) => `<${made.length} characters>`)
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
  return { text, same };
}

const rows = (["identified", "anonymous"] as const).flatMap((callers) =>
  (Object.keys(tables) as Revision[]).flatMap((revision) => {
    const principal: Principal =
      callers === "anonymous"
        ? { kind: "anonymous" }
        : { kind: "identified", issuer: "i", subject: "s", scopes: ["client"], expiresAt: null };
    const names = Object.keys(tables[revision](principal));
    const all = revision === "2026-07-28" ? names : ["initialize", ...names];
    return all.flatMap((method) => [
      { callers, revision, method, batch: false },
      ...(revision === "2025-03-26" ? [{ callers, revision, method, batch: true }] : []),
    ]);
  }),
);

describe("every revision", () => {
  it("is attacked", () => {
    const served: string[] = [...MODERN, ...LEGACY];
    expect(Object.keys(tables).sort()).toEqual(served.sort());
  });

  it("is attacked at each of its methods, and none is told of that is gone", () => {
    expect([...new Set(rows.map(({ method }) => method))].sort()).toEqual(Object.keys(ways).sort());
  });
});

describe("what one caller was given is worth to another what nobody was given", () => {
  it.concurrent.each(rows)("$callers callers, $revision $method (batch: $batch)", (row) => {
    const { callers, revision, method, batch } = row;
    const way = ways[method];
    if (!way) throw new Error(`Say in this file what ${method} takes, and where.`);
    const hasSessions = revision !== "2026-07-28";
    return within(callers, hasSessions ? revision : undefined, async (w) => {
      const send = sender(w, revision, method, batch);
      const inSession = hasSessions && (batch || method !== "initialize");
      const places = [...everywhere(way.usual(w), inSession), ...(way.places?.(w) ?? [])];
      const before = await w.seen();
      const all = kinds.flatMap((kind) => w.secrets[kind]);
      for (const [kind, secret] of kinds.flatMap((of) => w.secrets[of].map((one) => [of, one] as const))) {
        const never = neverGiven(kind, secret);
        for (const { at, put } of places) {
          const call = put(secret);
          const stolen = await read(await send("b", call), secret);
          const guessed = await read(await send("b", put(never)), never);
          const learned = all.filter((other) => !JSON.stringify(call).includes(other) && stolen.text.includes(other));
          const told = { at, kind, secret };
          expect({ ...told, answer: stolen.same, learned }).toEqual({ ...told, answer: guessed.same, learned: [] });
          expect({ ...told, seen: await w.seen() }).toEqual({ ...told, seen: before });
        }
      }
      // Each of these places is one: for whom the value was made it means something.
      for (const place of places.filter(({ takes }) => isTaken(takes, w, revision)))
        expect([place.at, await means(place, w, send)]).toEqual([place.at, true]);
    });
  });
});

type Send = ReturnType<typeof sender>;

async function means({ takes, put }: Place, { secrets }: World, send: Send): Promise<boolean> {
  for (const secret of secrets[takes as Kind]) {
    const never = neverGiven(takes as Kind, secret);
    const given = await read(await send("a", put(secret)), secret);
    if (given.same !== (await read(await send("a", put(never)), never)).same) return true;
  }
  return false;
}

function isTaken(takes: Kind | undefined, { secrets, identified }: World, revision: Revision): boolean {
  if (!takes || secrets[takes].length === 0) return false;
  const modern = revision === "2026-07-28";
  // Only the newest revision has rounds; only a session can tell anonymous callers' keys apart.
  return takes === "state" ? modern : takes === "key" ? identified || !modern : true;
}

describe("a credential that is missing, empty or wrong (F02)", () => {
  it("is 401 at every method of every revision, in the same bytes", () =>
    within("identified", undefined, async (w) => {
      const wrong = [
        null,
        "",
        "Bearer",
        "Bearer ",
        "Bearer owner-c",
        "Basic b3duZXItYTo=",
        "Bearer owner-a, Bearer owner-a",
      ];
      const before = await w.seen();
      const told = new Set<string>();
      for (const { revision, method, batch } of rows.filter(({ callers }) => callers === "identified")) {
        const send = sender(w, revision, method, batch);
        const [place] = ways[method]?.places?.(w) ?? [];
        const call = place?.put(w.secrets.task[0] as string) ?? {};
        for (const credential of wrong) {
          const response = await send("a", { ...call, headers: { ...call.headers, Authorization: credential } });
          expect([method, credential, response.status]).toEqual([method, credential, 401]);
          expect(response.headers.get("www-authenticate")).toMatch(/^Bearer /);
          told.add((await read(response, "nothing that was sent")).text);
        }
      }
      expect(told.size).toBe(1);
      expect(await w.seen()).toBe(before);
    }));
});

const legacy = LEGACY.flatMap((revision) =>
  (["identified", "anonymous"] as const).map((callers) => ({ callers, revision })),
);

describe("an answer to a question that was asked of somebody else (F04)", () => {
  it.concurrent.each(legacy)("changes nothing: $callers callers, $revision", ({ callers, revision }) =>
    within(callers, revision, async (w) => {
      const { a, b } = w.clients;
      const before = await w.seen();
      const sessions: readonly (string | null)[] = [b.sessionId, null, ...w.secrets.session];
      for (const { id } of Object.values(w.questions)) {
        const never = neverGiven("question", id);
        for (const session of sessions) {
          for (const said of [{ result: ANSWER }, { error: { code: -1, message: "No." } }]) {
            const post = async (question: string): Promise<string> => {
              const message = { jsonrpc: "2.0", id: question, ...said };
              const body = revision === "2025-03-26" ? [message] : message;
              return (await read(await b.post(body, { headers: { "Mcp-Session-Id": session } }), question)).same;
            };
            expect([session, await post(id)]).toEqual([session, await post(never)]);
            expect(await w.seen()).toEqual(before);
          }
        }
      }
      // Nor does taking back the requests that wait for them.
      for (const requestId of w.requests) await b.notify("notifications/cancelled", { requestId });
      // The questions were open all along, for whom they were asked.
      const asked = revision === "2025-03-26" ? w.newest : a;
      await asked.answer(w.questions.ofCall, ANSWER);
      await w.newest.answer(w.questions.ofTask, ANSWER);
      const text = ({ result }: Wire): string => result.content[0].text;
      expect(text(await w.streams.call.until(({ result }) => result))).toBe(JSON.stringify(ANSWER));
      expect(text(await w.streams.result.until(({ result }) => result))).toContain(JSON.stringify(ANSWER));
    }),
  );
});

describe("a stream of one caller's", () => {
  const withStatus = legacy.filter(({ revision }) => revision !== "2025-03-26");

  it.concurrent.each(legacy)("is opened to nobody else: $callers callers, $revision", ({ callers, revision }) =>
    within(callers, revision, async (w) => {
      for (const session of w.secrets.session) {
        const get = async (id: string): Promise<string> =>
          (await read(await w.clients.b.get({ "Mcp-Session-Id": id }), id)).same;
        const refused = await get(session);
        expect(refused).toEqual(await get(neverGiven("session", session)));
        expect(JSON.parse(refused)[0]).toBe(404);
      }
    }),
  );

  it.concurrent.each(withStatus)("is what another cannot come back to: $callers callers, $revision", (row) =>
    within(row.callers, row.revision, async (w) => {
      const { b } = w.clients;
      const events = [null, ...w.secrets.event, ...w.secrets.event.map((event) => neverGiven("event", event))];
      const streams = await Promise.all(
        events.map((event) => b.listen(event === null ? {} : { "Last-Event-ID": event })),
      );
      try {
        // While A's tasks go on, ask and end.
        await w.newest.answer(w.questions.ofTask, ANSWER);
        await w.streams.result.until(({ result }) => result);
        await w.newest.task("quick");
        await w.newest.task("secretive");
        // What B hears of is its own: whatever came before it has come by now.
        const headers = { Accept: "application/json" };
        const mine: Wire = await b.call("tools/call", { name: "secretive" }, { headers });
        const { taskId } = mine.result._meta["dev.holdfast/task"];
        const heard = streams.map((stream) => stream.until(({ params }) => JSON.stringify(params).includes(taskId)));
        // Of a session's streams one tells its tasks' status, and a question goes out on one.
        await Promise.race(heard);
        const text = JSON.stringify(streams.map((stream) => stream.events));
        const others = [...w.taskIds, ...kinds.flatMap((kind) => w.secrets[kind])];
        expect(others.filter((secret) => text.includes(secret) && !events.includes(secret))).toEqual([]);
        expect(w.streams.session.messages.filter((message) => JSON.stringify(message).includes(taskId))).toEqual([]);
      } finally {
        await Promise.all(streams.map((stream) => stream.leave()));
      }
    }),
  );

  it("of 2026-07-28 acknowledges none of another's tasks, and tells of none", () =>
    within("identified", undefined, async (w) => {
      const notifications = { taskIds: [...w.taskIds, w.own.settled] };
      const send = sender(w, "2026-07-28", "subscriptions/listen", false);
      const response = await send("b", { params: { notifications } });
      expect(isStream(response)).toBe(true);
      const text = await response.text();
      expect(w.taskIds.filter((id) => text.includes(id))).toEqual([]);
      expect(text).toContain(w.own.settled);
    }));
});

describe("a list", () => {
  it("shows the caller's own tasks, and nobody else's", () =>
    within("identified", "2025-11-25", async (w) => {
      const lists = await Promise.all(
        (["tasks/list", "tools/call"] as const).map(async (method) =>
          JSON.stringify(await w.clients.b.call(method, method === "tools/call" ? { name: "task_list" } : {})),
        ),
      );
      for (const text of lists) {
        expect(w.taskIds.filter((id) => text.includes(id))).toEqual([]);
        expect(Object.values(w.own).filter((id) => !text.includes(id))).toEqual([]);
      }
    }));

  it("is not there for callers who cannot be told apart", () =>
    within("anonymous", "2025-11-25", async (w) => {
      const { b } = w.clients;
      expect((await b.call("tasks/list")).error.code).toBe(-32601);
      expect((await b.tool("task_list")).error.code).toBe(-32602);
    }));
});
