// A message to a task that asks something: with its answer, in data or in words, or with what answers nothing.
import type { Acknowledged, Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Server } from "../server.ts";
import { messageIn, METHODS, nextMessage, requestA2a, taskIn, type A2aPart, type A2aVersion } from "./a2a-client.ts";
import { saidIn, sawA2a, withoutTask } from "./a2a-sights.ts";
import { anyAnswer } from "./errands.ts";

/** Who is spoken to has ended, or asks nothing any more. */
export const UNSUPPORTED = -32004;

/** The same message until it is answered: it counts once. */
export async function followUp(
  server: Server,
  { id, owner, open }: Acknowledged,
  version: A2aVersion,
  random: Random,
  journal: Journal,
): Promise<void> {
  const messageId = nextMessage();
  const { part, answers, isLoose } = anyReply(open, random);
  const [given] = Object.values(answers);
  // What names no question may answer another one than was seen.
  journal.saying(id, messageId, { text: saidIn([part]), ...(isLoose && given ? { answer: given } : {}) });
  for (const [key, answer] of Object.entries(answers)) journal.answering(id, key, answer);
  const { send, configuration } = METHODS[version];
  const message = messageIn(version, messageId, [part], id);
  const params = { message, configuration: configuration(random.chance(0.3)) };
  for (;;) {
    const sent = journal.now();
    const reply = await requestA2a(server, owner, send, params);
    if (reply.kind === "lost") {
      journal.count("messages sent again");
      continue;
    }
    if (reply.message?.error?.code === UNSUPPORTED) return journal.count("messages refused");
    const told = taskIn(reply);
    if (!told) return withoutTask(server, { id }, send, reply, journal);
    const isKept = told.history?.some((one) => one.messageId === messageId) === true;
    const { status } = sawA2a(server, told, { version, sent }, journal);
    if (!isKept) {
      // Somebody cancelled it meanwhile.
      journal.count("messages too late");
      if (status !== "settled")
        journal.found("messages are kept", `The message ${messageId} to ${id} is not in the answer to it.`);
      return;
    }
    journal.heard(id, messageId);
    for (const key of Object.keys(answers)) journal.answered(id, key);
    return;
  }
}

type Reply = {
  readonly part: A2aPart;
  /** Question → its answer, as JSON. */
  readonly answers: Readonly<Record<string, string>>;
  /** The questions are not named. */
  readonly isLoose: boolean;
};

function anyReply(open: readonly string[], random: Random): Reply {
  const what = random.next();
  const given = open.map((key) => [key, anyAnswer(random)] as const);
  const answers = Object.fromEntries(given.map(([key, answer]) => [key, JSON.stringify(answer)]));
  if (what < 0.15)
    return { part: { data: { inputResponses: { nothing: { action: "accept" } } } }, answers: {}, isLoose: false };
  const content = given[0]?.[1]["content"] as { readonly v: string };
  if (what < 0.4 && given.length === 1) return { part: { text: content.v }, answers, isLoose: true };
  if (what < 0.6 && given.length === 1) return { part: { data: content }, answers, isLoose: true };
  return { part: { data: { inputResponses: Object.fromEntries(given) } }, answers, isLoose: false };
}
