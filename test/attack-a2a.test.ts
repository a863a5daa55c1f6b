// A2A under the same attack as the other doors: what one caller has, another tries at every place of every operation,
// in both generations and over both bindings. What an operation takes is told below; that there is such an operation, by
// the tables of the door itself.
import { describe, expect, it } from "vitest";
import { OLD_NAMES, type NewMethod } from "../src/a2a/dialect";
import { routes, type Call } from "./support/a2a-routes";
import { a2aWorld, HOOK, kinds, neverGiven, type A2aWorld, type Kind } from "./support/a2a-victim";
import type { Wire } from "./support/mcp";
import { KEYED, type Who } from "./support/victim";

/** A place for a value. `takes` says whose value means something there: its owner gets more there than a stranger. */
type Place = { readonly at: string; readonly takes?: Kind; readonly put: (value: string) => Call };

type Way = {
  /** A call of B's own that is well answered and changes nothing, for the places that all have. */
  readonly usual: (world: A2aWorld) => Wire;
  readonly places?: (world: A2aWorld) => readonly Place[];
};

const place = (at: string, takes: Kind | null, paramsWith: (value: string) => Wire): Place => ({
  at,
  ...(takes ? { takes } : {}),
  put: (value) => ({ params: paramsWith(value) }),
});

const ofTask = (more: object = {}): Way => ({
  usual: ({ own }) => ({ id: own.settled, ...more }),
  places: () => [place("id", "task", (id) => ({ id, ...more }))],
});

const ofConfig: Way = {
  usual: ({ own }) => ({ taskId: own.settled, id: "mine" }),
  places: ({ identified, asking, secrets: { config } }) => [
    place("taskId", "task", (taskId) => ({ taskId, id: config[0] })),
    // Whoever has its id may look after an anonymous task.
    ...(identified ? [place("id", "config", (id) => ({ taskId: asking, id }))] : []),
  ],
};

const saying = (over: object, skill = "plain", args: object = {}) => ({
  message: { role: "ROLE_USER", messageId: "m", parts: [{ data: { skill, arguments: args } }], ...over },
  configuration: {},
});
const answering = (taskId: string, over: object = {}) => saying({ taskId, parts: [{ text: "yes" }], ...over });
const pushing = (config: object, to: Wire): Wire => ({
  ...to,
  configuration: { taskPushNotificationConfig: { id: "mine", url: HOOK, ...config } },
});

const keyed = (at: string, args: object, takes?: Kind): Place => ({
  at: `Idempotency-Key of ${at}`,
  ...(takes ? { takes } : {}),
  put: (key) => ({ params: saying({}, "quick", args), headers: { "Idempotency-Key": key } }),
});

const sending: Way = {
  usual: () => saying({}),
  places: ({ own }) => [
    place("message.taskId", "task", answering),
    place("message.taskId, with its context", "task", (taskId) => answering(taskId, { contextId: "c" })),
    place("message.taskId, with a push target", "task", (taskId) => pushing({}, answering(taskId))),
    place("message.contextId of an answer", null, (contextId) => answering(own.settled, { contextId })),
    place("message.messageId of an answer", null, (messageId) => answering(own.settled, { messageId })),
    place("message.contextId", null, (contextId) => saying({ contextId })),
    place("message.contextId of a task", null, (contextId) => saying({ contextId }, "quick")),
    place("message.messageId of a task", null, (messageId) => saying({ messageId }, "quick")),
    place("message.referenceTaskIds", null, (id) => saying({ referenceTaskIds: [id] }, "quick")),
    place("message.metadata", null, (value) => saying({ metadata: { taskId: value, contextId: value } })),
    place("a skill", null, (skill) => saying({}, skill)),
    place("an argument of a skill", null, (note) => saying({}, "plain", { note })),
    place("taskId of a push target", null, (taskId) => pushing({ taskId }, saying({}, "quick"))),
    place("id of a push target", null, (id) => pushing({ id }, saying({}, "quick"))),
    keyed("the same call", KEYED),
    keyed("another call", { note: "another" }, "key"),
  ],
};

/** What each operation takes, and where. One that is not here fails the tests. */
const ways: Readonly<Record<NewMethod, Way>> = {
  SendMessage: sending,
  SendStreamingMessage: sending,
  GetTask: ofTask(),
  ListTasks: {
    usual: () => ({ contextId: "never-used" }),
    places: () => [
      place("contextId", "context", (contextId) => ({ contextId })),
      place("pageToken", "page", (pageToken) => ({ contextId: "never-used", pageToken })),
    ],
  },
  CancelTask: ofTask({ metadata: {} }),
  SubscribeToTask: ofTask(),
  CreateTaskPushNotificationConfig: {
    usual: ({ own }) => ({ taskId: own.settled, id: "mine", url: HOOK }),
    places: () => [place("taskId", "task", (taskId) => ({ taskId, id: "mine", url: HOOK }))],
  },
  GetTaskPushNotificationConfig: ofConfig,
  ListTaskPushNotificationConfigs: {
    usual: ({ own }) => ({ taskId: own.settled }),
    places: () => [place("taskId", "task", (taskId) => ({ taskId }))],
  },
  DeleteTaskPushNotificationConfig: ofConfig,
  GetExtendedAgentCard: { usual: () => ({}) },
};

/** What any request may carry. */
const everywhere = (usual: Wire): readonly Place[] => [
  ...["Idempotency-Key", "A2A-Extensions", "Last-Event-ID", "Mcp-Session-Id"].map((name) => ({
    at: name,
    put: (value: string) => ({ params: usual, headers: { [name]: value } }),
  })),
  { at: "id of the request", put: (id) => ({ params: usual, id }) },
  { at: "metadata", put: (value) => ({ params: { ...usual, metadata: { taskId: value } } }) },
];

type Read = { readonly text: string; readonly same: string };

/** All that the caller gets. `same` leaves out what it sent itself, and what is another thing each time it is made. */
async function read(response: Response, sent: string): Promise<Read> {
  // Where it took a moment, that is seen: by space before the answer, and in what proxies are told.
  const headers = [...response.headers].filter(([name]) => !/^(cache-control|x-accel-buffering)$/.test(name));
  const text = JSON.stringify([response.status, headers, (await response.text()).trim()]);
  const same = text
    .replaceAll(sent, "<sent>")
    .replaceAll(encodeURIComponent(sent), "<sent>")
    .replace(/[\w-]{43,}(\.[0-9a-z]{1,7})?/g, "<id>")
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "<uuid>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
  return { text, same };
}

async function within(callers: string, attack: (world: A2aWorld) => Promise<void>): Promise<void> {
  const made = await a2aWorld(callers === "identified");
  try {
    await attack(made);
  } finally {
    await Promise.all(Object.values(made.streams).map((stream) => stream.leave()));
  }
}

const rows = (["identified", "anonymous"] as const).flatMap((callers) =>
  routes.map((route) => ({ callers, name: `${route.method} (${route.how})`, route })),
);

describe("every operation", () => {
  it("is attacked, and none is told of that is gone", () => {
    expect(Object.keys(ways).sort()).toEqual(Object.keys(OLD_NAMES).sort());
    expect([...new Set(routes.map(({ method }) => method))].sort()).toEqual(Object.keys(ways).sort());
  });
});

describe("what one caller was given is worth to another what nobody was given", () => {
  it.concurrent.each(rows)("$callers callers, $name", ({ callers, route: { method, request } }) =>
    within(callers, async (w) => {
      const way = ways[method];
      if (!way) throw new Error(`Say in this file what ${method} takes, and where.`);
      const send = async (who: Who, call: Call, sent: string) => read(await w.send(who, request(call)), sent);
      const places = [...everywhere(way.usual(w)), ...(way.places?.(w) ?? [])];
      const before = await w.seen();
      const all = Object.values(w.secrets).flat();
      const told = new Set<string>(Object.values(w.own));
      for (const [kind, secret] of kinds.flatMap((of) => w.secrets[of].map((one) => [of, one] as const))) {
        const never = neverGiven(kind, secret);
        for (const { at, put } of places) {
          const stolen = await send("b", put(secret), secret);
          const guessed = await send("b", put(never), never);
          const called = JSON.stringify(put(secret));
          const learned = all.filter((other) => !called.includes(other) && stolen.text.includes(other));
          expect({ at, kind, secret, answer: stolen.same, learned }).toEqual({
            at,
            kind,
            secret,
            answer: guessed.same,
            learned: [],
          });
          for (const { text } of [stolen, guessed]) for (const [id] of text.matchAll(/[\w-]{43}/g)) told.add(id);
          expect({ at, kind, secret, seen: await w.seen() }).toEqual({ at, kind, secret, seen: before });
        }
      }
      // What was refused has left nothing behind: of whatever there is now, B was told.
      const { tasks } = await w.call("b", "ListTasks", { pageSize: 100 });
      expect(tasks.map(({ id }: Wire) => id).filter((id: string) => !told.has(id))).toEqual([]);
      // Each of these places is one: for whom the value was made it means something.
      for (const { at, takes, put } of w.identified ? places.filter(({ takes }) => takes) : []) {
        let isOne = false;
        for (const secret of w.secrets[takes as Kind]) {
          const never = neverGiven(takes as Kind, secret);
          const [state, given] = [await w.seen(), await send("a", put(secret), secret)];
          isOne ||= given.same !== (await send("a", put(never), never)).same || state !== (await w.seen());
          if (isOne) break;
        }
        expect([at, isOne]).toEqual([at, true]);
      }
    }),
  );
});

describe("a credential that is missing, empty or wrong (F02)", () => {
  it("is 401 at every operation, in the same bytes", () =>
    within("identified", async (w) => {
      const before = await w.seen();
      const told = new Map<string, Set<string>>();
      for (const { method, binding, how, request } of routes) {
        const [first] = ways[method].places?.(w) ?? [];
        const call = first?.put(w.secrets.task[0] as string) ?? { params: {} };
        for (const Authorization of [null, "", "Bearer", "Bearer owner-c", "Basic b3duZXItYTo="]) {
          const response = await w.send("a", request({ ...call, headers: { Authorization } }));
          expect([method, how, Authorization, response.status]).toEqual([method, how, Authorization, 401]);
          expect(response.headers.get("www-authenticate")).toMatch(/^Bearer /);
          told.set(binding, (told.get(binding) ?? new Set()).add((await read(response, "nothing")).text));
        }
      }
      expect([...told.values()].map(({ size }) => size)).toEqual([1, 1]);
      expect(await w.seen()).toBe(before);
    }));
});

describe("a list", () => {
  it("shows the caller's own tasks, and nobody else's", () =>
    within("identified", async (w) => {
      const listed = JSON.stringify(await w.call("b", "ListTasks", { includeArtifacts: true, historyLength: 10 }));
      expect(
        Object.values(w.secrets)
          .flat()
          .filter((secret) => listed.includes(secret)),
      ).toEqual([]);
      expect(Object.values(w.own).filter((id) => !listed.includes(id))).toEqual([]);
    }));

  it("is empty for callers who cannot be told apart: they share nothing", () =>
    within("anonymous", async (w) => {
      for (const who of ["a", "b"] as const) {
        expect(await w.call(who, "ListTasks", {})).toEqual({
          tasks: [],
          nextPageToken: "",
          pageSize: 50,
          totalSize: 0,
        });
        expect((await w.call(who, "ListTasks", { contextId: w.secrets.context[0] })).tasks).toEqual([]);
      }
      const [key = ""] = w.secrets.key;
      const keys = { "Idempotency-Key": key };
      const begun = async (who: Who) => (await w.call(who, "SendMessage", saying({}, "quick", KEYED), keys)).task.id;
      const ids = [await begun("a"), await begun("a"), await begun("b")];
      expect(new Set(ids).size).toBe(3);
    }));
});
