// A2A as it goes over HTTP, for what no client library lets one say or see.
import { vi } from "vitest";
import { events, type Wire } from "../support/mcp";

/** `mixed`: method names of 1.0 with the shapes of 0.3, and no word about the version; so speaks Toolnexus. */
export type Tongue = "1.0" | "mixed";

export type CallOptions = {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly id?: string | number;
};

/** A message to be, in either tongue. */
export type Saying = {
  /** In words, or as data. */
  readonly content: string | object;
  /** Of the task that it answers. */
  readonly taskId?: string;
  readonly more?: object;
};

export type SendOptions = CallOptions & {
  /** Until the task rests; else only until it is stored. */
  readonly wait?: boolean;
  readonly configuration?: object;
};

/** The metadata key of a task's facts. */
export const FACTS = "https://holdfast.dev/a2a/task-facts/v1";

export const skill = (name: string, args: object = {}) => ({ skill: name, arguments: args });

export type A2aWire = ReturnType<typeof a2aWire>;

export function a2aWire({ url }: { readonly url: string }, tongue: Tongue = "1.0", owner = "owner-a") {
  const isNew = tongue === "1.0";

  const headersOf = ({ token = owner, headers = {} }: CallOptions) => ({
    "Content-Type": "application/json",
    Authorization: `Bearer ${token}`,
    ...(isNew ? { "A2A-Version": "1.0" } : {}),
    ...headers,
  });
  /** Of the REST binding, by its path under the endpoint. */
  const rest = (method: string, path: string, body?: object, options: CallOptions = {}): Promise<Response> =>
    fetch(`${url}/a2a${path}`, {
      method,
      headers: headersOf(options),
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  const post = (body: unknown, options: CallOptions = {}): Promise<Response> =>
    fetch(`${url}/a2a`, {
      method: "POST",
      headers: headersOf(options),
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  const request = (method: string, params: object, options: CallOptions = {}): Promise<Response> =>
    post({ jsonrpc: "2.0", id: options.id ?? 1, method, params }, options);
  /** The whole answer, which may be an error. */
  const answer = async (method: string, params: object, options?: CallOptions): Promise<Wire> =>
    (await request(method, params, options)).json();
  const call = async (method: string, params: object, options?: CallOptions): Promise<Wire> => {
    const { result, error } = await answer(method, params, options);
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };

  const message = ({ content, taskId, more }: Saying) => {
    const kind = typeof content === "string" ? "text" : "data";
    const part = { ...(isNew ? {} : { kind }), [kind]: content };
    const whose = isNew ? { role: "ROLE_USER" } : { kind: "message", role: "user" };
    return { ...whose, messageId: crypto.randomUUID(), parts: [part], ...(taskId ? { taskId } : {}), ...more };
  };
  const sending = (saying: Saying, wait: boolean, configuration: object = {}) => ({
    message: message(saying),
    configuration: { ...(isNew ? { returnImmediately: !wait } : { blocking: wait }), ...configuration },
  });
  const send = async (saying: Saying, { wait = false, configuration, ...options }: SendOptions = {}): Promise<Wire> => {
    const result = await call("SendMessage", sending(saying, wait, configuration), options);
    return isNew ? result.task : result;
  };
  const get = (id: string, more: object = {}): Promise<Wire> => call("GetTask", { id, ...more });

  return {
    rest,
    post,
    request,
    answer,
    call,
    message,
    sending,
    /** The task that the message came to. */
    send,
    begin: (name: string, args: object = {}, options?: SendOptions): Promise<Wire> =>
      send({ content: skill(name, args) }, options),
    get,
    /** Asks until it stands so, no faster than it is meant to be asked. */
    until: (id: string, state: string): Promise<Wire> =>
      vi.waitUntil(
        async () => {
          const task = await get(id);
          return stateOf(task) === state ? task : false;
        },
        { timeout: 55_000, interval: 250 },
      ),
    /** The results of a stream, to its end. */
    async follow(method: string, params: object, options?: CallOptions): Promise<readonly Wire[]> {
      return collected(await request(method, params, options));
    },
  };
}

export async function collected(response: Response): Promise<readonly Wire[]> {
  const all: Wire[] = [];
  for await (const event of events(response)) all.push(event.result ?? event);
  return all;
}

/** As 0.3 writes it, in either tongue: of a task, or of news of its status. */
export const stateOf = ({ status }: Wire): string =>
  String(status?.state)
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");

const textsIn = (parts: Wire = []): string[] => parts.flatMap(({ text }: Wire) => (text === undefined ? [] : [text]));

/** What a task says of its status, in words. */
export const saidBy = ({ status }: Wire): string => textsIn(status.message?.parts).join("\n");

/** What it came to, in words. */
export const textOf = ({ artifacts = [] }: Wire): string =>
  textsIn(artifacts.flatMap(({ parts }: Wire) => parts)).join("\n");

/** Who said what, oldest first: data as JSON. */
export const heardIn = ({ history = [] }: Wire): readonly string[] =>
  history.map(({ role, parts }: Wire) => {
    const [{ text, data }] = parts;
    return `${String(role).replace("ROLE_", "").toLowerCase()}: ${text ?? JSON.stringify(data)}`;
  });

/** What an event of a stream, or a push notification, tells in few words, in either generation. */
export function newsOf(event: Wire): string {
  const { task, statusUpdate, artifactUpdate } = event;
  if (task || event.kind === "task") return `task ${stateOf(task ?? event)}`;
  if (statusUpdate || event.kind === "status-update") return stateOf(statusUpdate ?? event);
  if (artifactUpdate || event.kind === "artifact-update") return "artifact";
  return "message";
}
