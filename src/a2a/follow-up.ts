import type { Message } from "@a2a-js/sdk";
import { digestOf } from "../service/digest";
import { TaskError } from "../task/errors";
import { canonicalJson, type Json } from "../task/json";
import type { PushWish } from "../task/task";
import { isKnown } from "../task/turns";
import { answersIn } from "./answers";
import type { A2aDeps, Caller } from "./deps";
import { A2aError } from "./errors";
import { storedMessage } from "./messages";
import { contextIdOf } from "./view";

/**
 * A message to a task that waits for one: it answers what is open, and the task goes on (A2A 1.0 §3.4.3). The same
 * message again changes nothing. What answers nothing is kept, and the task says what would. `target` is told of what
 * comes of it.
 */
export async function followUp(
  { tasks }: A2aDeps,
  { principal }: Caller,
  message: Message,
  target: PushWish | undefined,
): Promise<void> {
  const { taskId, contextId, messageId } = message;
  const task = await tasks.look(principal, taskId, { body: false, conversation: true });
  if (contextId !== "" && contextId !== contextIdOf(task)) {
    throw new TaskError("invalid", "message.contextId is not the context of the task that message.taskId names.");
  }
  const text = storedMessage(message);
  const turn = { id: messageId, digest: await digestOf(canonicalJson(JSON.parse(text) as Json)), message: text };
  if (task.conversation && isKnown(task.conversation.turns, { ...turn, at: 0 })) return;
  if (task.stage.phase === "settled") {
    throw new A2aError("unsupported", "The task has ended and takes no more messages; send one without taskId.");
  }
  if (task.stage.phase !== "input_required") {
    throw new A2aError("unsupported", "The task is at work and has asked nothing; send a message when it does.");
  }
  // Before the answer, upon which the task may end at once.
  if (target) await tasks.setPush(principal, taskId, target);
  const read = answersIn(message, task.openQuestions);
  if (read.ok) await tasks.answer(principal, taskId, read.value, turn);
  else await tasks.say(principal, taskId, turn, read.message);
}
