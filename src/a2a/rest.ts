import type { Context } from "hono";
import { readBody } from "../body";
import { essence } from "../media-types";
import { isObject, type JsonObject } from "../task/json";
import { versionOf, type NewMethod } from "./dialect";
import { A2aError, restErrorText } from "./errors";
import { parsed } from "./posted";
import { paramsOf, readParams } from "./schemas";
import { serve, type Binding, type Door } from "./serve";

const A2A_JSON = "application/a2a+json";
const JSON_TYPES = [A2A_JSON, "application/json"];

/** A2A 1.0 §11: its own type, and plain JSON for who names that and not the other. */
export function restBinding(headers: Headers): Binding {
  const accepted = (headers.get("accept") ?? "").split(",").map(essence);
  const plain = accepted.includes("application/json") && !accepted.includes(A2A_JSON);
  return {
    contentType: plain ? "application/json" : A2A_JSON,
    // What has no result has an empty message for one.
    result: (result) => JSON.stringify(result ?? {}),
    error: restErrorText,
  };
}

/** HTTP method → operation. */
type Served = Readonly<Record<string, NewMethod>>;

/** Groups are members of the params. A colon of an id is sent as `%3A` where it could be read as that of a verb. */
export const ADDRESSES: readonly (readonly [path: RegExp, served: Served])[] = [
  [/^\/message:send$/, { POST: "SendMessage" }],
  [/^\/message:stream$/, { POST: "SendStreamingMessage" }],
  [/^\/tasks$/, { GET: "ListTasks" }],
  [/^\/tasks\/(?<id>[^/]+):cancel$/, { POST: "CancelTask" }],
  // The text of the specification says POST, its protocol buffers say GET.
  [/^\/tasks\/(?<id>[^/]+):subscribe$/, { GET: "SubscribeToTask", POST: "SubscribeToTask" }],
  [/^\/tasks\/(?<id>[^/]+)$/, { GET: "GetTask" }],
  [
    /^\/tasks\/(?<taskId>[^/]+)\/pushNotificationConfigs$/,
    { GET: "ListTaskPushNotificationConfigs", POST: "CreateTaskPushNotificationConfig" },
  ],
  [
    /^\/tasks\/(?<taskId>[^/]+)\/pushNotificationConfigs\/(?<id>[^/]+)$/,
    { GET: "GetTaskPushNotificationConfig", DELETE: "DeleteTaskPushNotificationConfig" },
  ],
  [/^\/extendedAgentCard$/, { GET: "GetExtendedAgentCard" }],
];

/** The HTTP+JSON binding: each operation is the method of that name, and its answer the method's result. */
export async function serveRest(c: Context, door: Door, path: string): Promise<Response> {
  const { raw } = c.req;
  const { search, searchParams } = new URL(raw.url);
  const { served, inPath } = addressOf(path, search);
  const method = Object.hasOwn(served, raw.method) ? served[raw.method] : undefined;
  if (method === undefined) {
    const Allow = Object.keys(served).join(", ");
    throw new A2aError("method_not_allowed", `This takes ${Allow}.`, { headers: { Allow } });
  }
  if (versionOf(raw) === "0.3") {
    throw new A2aError("version_not_supported", "A2A 0.3 is spoken over JSON-RPC only; send A2A-Version: 1.0.");
  }
  const { value, unsafeNumbers } =
    raw.method === "POST" ? await bodyOf(raw, door, "id" in inPath) : { value: paramsOf(searchParams) };
  // What stands in the path is said nowhere else.
  const params = readParams(method, { ...value, ...inPath }, unsafeNumbers);
  return serve(c, door, { method, params }, restBinding(raw.headers));
}

function addressOf(path: string, search: string): { readonly served: Served; readonly inPath: JsonObject } {
  for (const [pattern, served] of ADDRESSES) {
    const match = pattern.exec(path);
    if (!match) continue;
    try {
      decodeURIComponent(search);
      const inPath = Object.entries(match.groups ?? {}).map(([name, part]) => [name, decodeURIComponent(part)]);
      return { served, inPath: Object.fromEntries(inPath) };
    } catch {
      throw new A2aError("invalid", "The path or the query is not percent-encoded as a URL must be.");
    }
  }
  throw new A2aError("method_not_found", "Nothing is served here; the agent card says what is.");
}

/** `mayBeEmpty`: the path has said all that there must be. */
async function bodyOf(
  request: Request,
  { deps: { config } }: Door,
  mayBeEmpty: boolean,
): Promise<{ readonly value: JsonObject; readonly unsafeNumbers?: boolean }> {
  const bytes = await readBody(request, config);
  if (mayBeEmpty && bytes.length === 0) return { value: {} };
  if (!JSON_TYPES.includes(essence(request.headers.get("content-type") ?? ""))) {
    throw new A2aError("media_type", `Content-Type must be ${JSON_TYPES.join(" or ")}.`);
  }
  const { value, unsafeNumbers } = parsed(bytes, config);
  if (!isObject(value)) throw new A2aError("invalid", "The body must be a JSON object.");
  return { value, unsafeNumbers };
}
