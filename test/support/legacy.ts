import type { Served, Wire } from "./mcp";

export type LegacyVersion = "2025-11-25" | "2025-06-18" | "2025-03-26";

export type ConnectOptions = {
  readonly version?: string;
  readonly capabilities?: object;
  readonly token?: string;
};

export type PostOptions = {
  /** null takes a header away. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly signal?: AbortSignal;
};

/** A client of an older revision, as a well-behaved one goes about it. */
export class LegacyClient {
  readonly served: Served;
  readonly options: ConnectOptions;
  sessionId: string | null = null;
  /** What `initialize` answered. */
  result: Wire = null;
  #ids = 0;

  constructor(served: Served, options: ConnectOptions = {}) {
    this.served = served;
    this.options = options;
  }

  async initialize(): Promise<this> {
    const { version = "2025-11-25", capabilities = {} } = this.options;
    const params = { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } };
    const response = await this.send("initialize", params);
    this.sessionId = response.headers.get("mcp-session-id");
    this.result = ((await response.json()) as Wire).result;
    await this.notify("notifications/initialized");
    return this;
  }

  /** The same client with another session, as after a restart of the client. */
  again(): Promise<LegacyClient> {
    return new LegacyClient(this.served, this.options).initialize();
  }

  headers(over: PostOptions["headers"] = {}): Headers {
    const headers = new Headers({
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
    });
    if (this.sessionId !== null) {
      headers.set("Mcp-Session-Id", this.sessionId);
      headers.set("MCP-Protocol-Version", this.result.protocolVersion);
    }
    if (this.options.token) headers.set("Authorization", `Bearer ${this.options.token}`);
    for (const [key, value] of Object.entries(over)) {
      if (value === null) headers.delete(key);
      else headers.set(key, value);
    }
    return headers;
  }

  async post(body: unknown, { headers, signal }: PostOptions = {}): Promise<Response> {
    return this.served.app.request("http://localhost/mcp", {
      method: "POST",
      headers: this.headers(headers),
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  }

  send(
    method: string,
    params?: Wire,
    { id = (this.#ids += 1), ...options }: PostOptions & { id?: string | number } = {},
  ): Promise<Response> {
    return this.post({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }, options);
  }

  /** The answer, whichever type it came in; what came before it is passed over. */
  async call(method: string, params?: Wire, options?: PostOptions & { id?: string | number }): Promise<Wire> {
    const response = await this.send(method, params, options);
    if (!isStream(response)) return response.json();
    const stream = new EventReader(response);
    await stream.closed;
    return stream.messages.at(-1);
  }

  tool(name: string, args: Wire = {}, more: object = {}): Promise<Wire> {
    return this.call("tools/call", { name, arguments: args, ...more });
  }

  /** A call whose answer is a stream. */
  async open(method: string, params?: Wire, options?: PostOptions & { id?: string | number }): Promise<EventReader> {
    return new EventReader(await this.send(method, params, options));
  }

  /** Starts a task and returns it. */
  async task(name: string, args: Wire = {}, more: object = {}): Promise<Wire> {
    const answer = await this.tool(name, args, { task: {}, ...more });
    if (!answer.result?.task) throw new Error(`No task: ${JSON.stringify(answer)}`);
    return answer.result.task;
  }

  /** Polls until the task stands so. */
  async poll(taskId: string, status: string): Promise<Wire> {
    for (;;) {
      const { result, error } = await this.call("tasks/get", { taskId });
      if (error) throw new Error(error.message);
      if (result.status === status) return result;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  notify(method: string, params?: Wire): Promise<Response> {
    return this.post({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) });
  }

  /** Answers a request of the server's. */
  answer(question: Wire, result: Wire): Promise<Response> {
    return this.post({ jsonrpc: "2.0", id: question.id, result });
  }

  refuse(question: Wire): Promise<Response> {
    return this.post({ jsonrpc: "2.0", id: question.id, error: { code: -1, message: "User rejected the request" } });
  }

  async get(headers: Readonly<Record<string, string | null>> = {}): Promise<Response> {
    const all = this.headers({ Accept: "text/event-stream", "Content-Type": null, ...headers });
    return this.served.app.request("http://localhost/mcp", { method: "GET", headers: all });
  }

  /** The session's own stream. */
  async listen(headers?: Readonly<Record<string, string | null>>): Promise<EventReader> {
    return new EventReader(await this.get(headers));
  }
}

export const connect = (served: Served, options?: ConnectOptions): Promise<LegacyClient> =>
  new LegacyClient(served, options).initialize();

export const isStream = (response: Response): boolean =>
  response.headers.get("content-type")?.startsWith("text/event-stream") === true;

export type ServerEvent = { readonly id?: string; readonly retry?: number; readonly data: string };

/** Reads an event stream as it comes. */
export class EventReader {
  readonly response: Response;
  readonly events: ServerEvent[] = [];
  /** Comments, which are no events. */
  readonly comments: string[] = [];
  /** The messages of the events that have one. */
  readonly messages: Wire[] = [];
  readonly closed: Promise<void>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #wakes: (() => void)[] = [];

  constructor(response: Response) {
    if (!isStream(response)) throw new Error(`No stream: ${response.status} ${response.headers.get("content-type")}`);
    this.response = response;
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader();
    this.closed = this.#read();
  }

  /** The n-th message that fits, now or later; the test's own timeout is the limit. */
  async until(fits: (message: Wire) => boolean, n = 1): Promise<Wire> {
    for (;;) {
      const found = this.messages.filter(fits)[n - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#wakes.push(resolve));
    }
  }

  /** The n-th request of the server's. */
  request(n = 1): Promise<Wire> {
    return this.until((message) => message.method !== undefined && message.id !== undefined, n);
  }

  /** The n-th notification of this method. */
  notification(method: string, n = 1): Promise<Wire> {
    return this.until((message) => message.method === method && message.id === undefined, n);
  }

  /** As a client that goes away. */
  async leave(): Promise<void> {
    await this.#reader.cancel();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let buffered = "";
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      buffered += decoder.decode(value, { stream: true });
      for (let end = buffered.indexOf("\n\n"); end >= 0; end = buffered.indexOf("\n\n")) {
        this.#take(buffered.slice(0, end));
        buffered = buffered.slice(end + 2);
      }
    }
  }

  #take(block: string): void {
    const fields = block.split("\n").map((line) => [line.split(":", 1)[0], line.replace(/^\w*: ?/, "")] as const);
    const field = (name: string) => fields.filter(([key]) => key === name).map(([, value]) => value);
    for (const comment of field("")) this.comments.push(comment);
    const data = field("data");
    if (data.length === 0) return;
    const [id] = field("id");
    const [retry] = field("retry");
    this.events.push({
      data: data.join("\n"),
      ...(id === undefined ? {} : { id }),
      ...(retry === undefined ? {} : { retry: Number(retry) }),
    });
    if (data.join("") !== "") this.messages.push(JSON.parse(data.join("\n")));
    for (const wake of this.#wakes.splice(0)) wake();
  }
}
