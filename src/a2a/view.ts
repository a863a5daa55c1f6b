import type { Artifact, Message, Part, Task, TaskStatus } from "@a2a-js/sdk";
import type { Conversation, OpenQuestion, TaskSnapshot } from "../service/task-store";
import { standingOf } from "../task/standing";
import type { InputRequest, PushTarget, Question } from "../task/task";
import type { ToolResult } from "../tool/define-tool";
import { INPUT_REQUESTS_URI, TASK_FACTS_URI } from "./extensions";
import { BARE, messageOf } from "./messages";
import { dataPart, textPart, toParts } from "./parts";
import { ROLE, stateOf } from "./states";

type TaskOptions = {
  /** The newest so many; undefined: all that was read. */
  readonly historyLength?: number | undefined;
  readonly artifacts?: boolean;
};

/** A2A 1.0 §4.1.1. Strict clients refuse a field they do not know: what A2A has none for goes into the metadata. */
export function toTask(task: TaskSnapshot, { historyLength, artifacts = true }: TaskOptions): Task {
  const { ttlMs, pollIntervalMs, origin, tool, progress } = task;
  const push = task.conversation?.push.map(pushFacts) ?? [];
  const facts = {
    createdAt: time(task.createdAt),
    updatedAt: time(task.updatedAt),
    ttlMs,
    pollIntervalMs,
    origin,
    tool,
    ...(progress && { progress }),
    ...(push.length > 0 && { push }),
  };
  return {
    id: task.id,
    contextId: contextIdOf(task),
    status: statusOf(task),
    artifacts: artifacts ? artifactsOf(task) : [],
    history: historyLength === 0 ? [] : historyOf(task).slice(historyLength === undefined ? 0 : -historyLength),
    metadata: { [TASK_FACTS_URI]: facts },
  };
}

/** What its owner wants to know of a push target: what did not arrive there, and why. */
const pushFacts = ({ id, failures, dead }: PushTarget) => ({
  id,
  failures,
  undelivered: dead.map(({ at, reason }) => ({ at: time(at), reason })),
});

/** A2A 1.0 §5.6.1. */
const time = (at: number): string => new Date(at).toISOString();

/** A task that nobody gave a context is one of its own. */
export const contextIdOf = ({ id, contextId }: TaskSnapshot): string => contextId ?? id;

export const statusOf = (task: TaskSnapshot): TaskStatus => ({
  state: stateOf(standingOf({ stage: task.stage, open: task.openQuestions })),
  message: statusMessageOf(task),
  timestamp: time(task.statusAt),
});

/** Results are artifacts, never messages (A2A 1.0 §3.7): one, of all parts. None where the body was not read. */
export function artifactsOf({ stage }: TaskSnapshot): Artifact[] {
  if (stage.phase !== "settled" || stage.outcome.kind !== "result") return [];
  const result = JSON.parse(stage.outcome.result) as ToolResult | null;
  const parts = result ? toParts(result) : [];
  if (parts.length === 0) return [];
  return [{ artifactId: "result", name: "", description: "", parts, metadata: result?._meta, extensions: [] }];
}

/** What was said from both sides, in order; empty where the conversation was not read. */
export function historyOf(task: TaskSnapshot): Message[] {
  const { conversation } = task;
  if (!conversation) return [];
  const { questions, turns } = conversation;
  // What was asked at once is one message, whole, as soon as some of it is answered.
  const asked = [...Map.groupBy(questions, (question, at) => whenAsked(question, questions.slice(0, at)))];
  const heard = asked.filter(([, some]) => some.some(({ state }) => state.kind !== "open"));
  const news = [
    ...heard.map(([at, some]) => ({ at, message: asking(task, some, null) })),
    ...turns.map(({ at, message }) => ({ at, message: placed(task, messageOf(message)) })),
  ];
  return [firstMessage(task, conversation), ...news.sort((a, b) => a.at - b.at).map(({ message }) => message)];
}

/** What a tool answered at once, without a task. Unlike a task, a message has no state that would say it failed. */
export function toReply(result: ToolResult, contextId: string, messageId: string = crypto.randomUUID()): Message {
  const parts = toParts(result);
  return {
    ...message(messageId, parts.length > 0 ? parts : [textPart("")]),
    contextId,
    metadata: result.isError ? { ...result._meta, [TASK_FACTS_URI]: { isError: true } } : result._meta,
  };
}

function statusMessageOf(task: TaskSnapshot): Message | undefined {
  const { stage, openQuestions, statusMessage, progress } = task;
  if (stage.phase !== "settled") {
    if (stage.phase === "input_required" && openQuestions.length > 0) return asking(task, openQuestions, statusMessage);
    return telling(task, statusMessage ?? progress?.message);
  }
  const { outcome } = stage;
  if (outcome.kind === "error") {
    const { code, message, data } = outcome.error;
    return telling(task, message, { code, data: data && (JSON.parse(data) as unknown) });
  }
  return telling(task, outcome.kind === "rejected" ? outcome.reason : statusMessage);
}

const telling = (task: TaskSnapshot, text: string | null | undefined, metadata?: object): Message | undefined =>
  text == null ? undefined : { ...byAgent(task, task.stage.phase, [textPart(text)]), metadata };

/** All prompts in words, after what else there is to say; and the questions as data, for programs. */
function asking(task: TaskSnapshot, questions: readonly OpenQuestion[], statusMessage: string | null): Message {
  const prompts = questions.map(({ request }) => promptOf(request));
  // A status message is the first prompt, maybe cut short, unless there was something to explain.
  const start = statusMessage?.replace(/…$/, "");
  const known = start === undefined || prompts.some((prompt) => prompt.startsWith(start));
  const texts = new Set(known ? prompts : [statusMessage, ...prompts]);
  const requests = questions.map(({ key, request: { method, params } }) => [key, { method, params }] as const);
  return {
    ...byAgent(task, "asked", [
      textPart([...texts].join("\n\n")),
      dataPart({ inputRequests: Object.fromEntries(requests) }),
    ]),
    extensions: [INPUT_REQUESTS_URI],
  };
}

function promptOf({ params }: InputRequest): string {
  const text = params["message"];
  const prompt = typeof text === "string" ? text : "The task waits for the client's answer.";
  return params["mode"] === "url" ? `${prompt}\n${String(params["url"])}` : prompt;
}

/**
 * A question that follows upon an answer, maybe within the same millisecond, comes after the message that brought it.
 * Otherwise nothing is said to a task before it asks.
 */
const whenAsked = ({ askedAt }: Question, earlier: readonly Question[]): number =>
  earlier.some(({ state }) => state.kind !== "open" && state.at === askedAt) ? askedAt + 0.5 : askedAt;

/** As its sender wrote it; a call of another protocol in the words that would make the same task here. */
function firstMessage(task: TaskSnapshot, { extras, arguments: args }: Conversation): Message {
  if (task.origin.startsWith("a2a/") && extras !== null) return placed(task, messageOf(extras));
  const call = dataPart({ skill: task.tool, arguments: JSON.parse(args) as unknown });
  return { ...placed(task, message(`${task.id}.call`, [call])), role: ROLE.user };
}

const placed = (task: TaskSnapshot, one: Message): Message => ({
  ...one,
  contextId: contextIdOf(task),
  taskId: task.id,
});

/** The same words of the same kind always have the same id. */
const byAgent = (task: TaskSnapshot, kind: string, parts: Part[]): Message =>
  placed(task, message(`${task.id}.${fingerprint(JSON.stringify([kind, parts]))}`, parts));

const message = (messageId: string, parts: Part[]): Message => ({ ...BARE, messageId, role: ROLE.agent, parts });

/** FNV-1a: enough to tell the messages of one task apart. */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}
