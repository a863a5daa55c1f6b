// Good requests of A2A in every generation and binding, to be spoiled by the fuzzer, and what must hold for the answers.
import type { NewMethod } from "../../src/a2a/dialect";
import { routes, type A2aRequest } from "./a2a-routes";
import type { Draft } from "./fuzz";
import type { Wire } from "./mcp";

const message = (parts: readonly object[], over: object = {}) => ({
  message: { role: "ROLE_USER", messageId: "m", parts, ...over },
  configuration: { historyLength: 3, acceptedOutputModes: ["text/plain"] },
});
const calling = (skill: string, args: object, over: object = {}) =>
  message([{ data: { skill, arguments: args } }], { contextId: "c", ...over });
const answers = { k: { action: "accept", content: { v: "x" } } };

/** To this nobody is sent anything: it is refused. */
const target = { id: "mine", url: "https://localhost/hook", token: "t", authentication: { scheme: "Bearer" } };

const sends = (id: string): readonly Wire[] => [
  calling("plain", { x: [1, { a: "b" }] }),
  calling("slow", { ms: 0, text: "?" }),
  calling("remote", { text: "?" }, { extensions: ["urn:x"], metadata: { a: 1 } }),
  calling("ask", { keys: ["k"] }),
  message([{ text: "Compute it." }], { metadata: { skillId: "slow_compute" } }),
  message([{ data: { ms: 0, text: "?" } }, { raw: "AAAA", mediaType: "image/png", filename: "a.png" }], {
    metadata: { skillId: "slow" },
    referenceTaskIds: [id],
  }),
  message([{ text: "x" }], { taskId: id }),
  message([{ data: { inputResponses: answers } }], { taskId: id }),
  { ...calling("slow", { ms: 0, text: "?" }), configuration: { taskPushNotificationConfig: target } },
];

/** Good params of each operation, of a task. */
const good: Readonly<Record<NewMethod, (id: string) => readonly Wire[]>> = {
  SendMessage: sends,
  SendStreamingMessage: sends,
  GetTask: (id) => [{ id, historyLength: 2 }],
  ListTasks: () => [
    { pageSize: 2, status: "TASK_STATE_COMPLETED", includeArtifacts: true },
    { contextId: "c", statusTimestampAfter: "2026-01-01T00:00:00Z", historyLength: 1, pageToken: "" },
  ],
  CancelTask: (id) => [{ id }],
  SubscribeToTask: (id) => [{ id }],
  CreateTaskPushNotificationConfig: (taskId) => [{ taskId, ...target }],
  GetTaskPushNotificationConfig: (taskId) => [{ taskId, id: "mine" }],
  ListTaskPushNotificationConfigs: (taskId) => [{ taskId }],
  DeleteTaskPushNotificationConfig: (taskId) => [{ taskId, id: "mine" }],
  GetExtendedAgentCard: () => [{}],
};

function toDraft(
  token: string | undefined,
  { method, path, headers, body = null }: Omit<A2aRequest, "body"> & { readonly body?: object | null },
): Draft {
  const all = {
    "Content-Type": "application/json",
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
    ...headers,
  };
  const kept = Object.entries(all).filter((header): header is [string, string] => header[1] !== null);
  return { method, path: `/a2a${path}`, headers: kept, body };
}

/** What whoever has this token asks of its own task, and of those of others whose ids it knows. */
export const a2aDrafts = (token: string | undefined, taskIds: readonly string[]): readonly Draft[] => [
  ...routes.flatMap(({ method, request }) =>
    taskIds.flatMap((id) => good[method](id).map((params) => toDraft(token, request({ params })))),
  ),
  { method: "GET", path: "/.well-known/agent-card.json", headers: [["A2A-Version", "1.0"]], body: null },
];

/** What is wrong with an answer of this door, if anything: with its JSON objects, in whichever binding. */
export function a2aFault(status: number, messages: readonly Wire[], isRpc: boolean): string | null {
  // Pages of foreign origins are refused before it is looked at what they ask for.
  if (status === 403 && messages[0]?.jsonrpc !== undefined) return null;
  for (const { error, jsonrpc } of messages) {
    if (isRpc && jsonrpc !== "2.0") return "The answer is no response of JSON-RPC.";
    if (!error) continue;
    const { code, message: said, status: name, data, details = data } = error;
    if (isRpc ? !Number.isSafeInteger(code) : status !== 200 && code !== status) return "The error has no code.";
    if (!isRpc && !/^[A-Z_]+$/.test(name)) return "The error has no status.";
    if (typeof said !== "string" || !/^[\s\S]{5,2000}\.$/.test(said)) return "The error has no sentence.";
    if (!String(details?.[0]?.["@type"]).endsWith("google.rpc.ErrorInfo")) return "The error has no details.";
  }
  return status >= 400 && messages.some(({ error }) => !error) ? "The refusal says nothing." : null;
}
