import type { Errand, ErrandReport } from "../../../test/fixtures/tools/crash.ts";
import type { Journal, Outcome } from "../journal.ts";
import type { Random } from "../random.ts";
import type { Fields } from "../wire.ts";

/** Longer than the load lasts: only a clock that is moved gets there. */
const LONG_MS = 3_600_000;

let last = 0;

/** Whose work it is: like no other's. */
export function anyNote(kind: string, journal: Journal): string {
  last += 1;
  const note = `${kind}-${last}`;
  journal.notes.add(note);
  return note;
}

/** What is to be done, and by which tool: where the task is kept, or as a Workflow, whose engine has a slow clock of its own. */
export function anyCall(random: Random, journal: Journal): { readonly name: string; readonly errand: Errand } {
  const errand = anyErrand(random, journal);
  if (!random.chance(0.2)) return { name: "errand", errand };
  journal.count("calls of a Workflow");
  const note = anyNote(WORKFLOW, journal);
  const plan = errand.plan.map((part) => (part.do === "sleep" ? { ...part, ms: Math.min(part.ms, 1_500) } : part));
  return { name: "workflow_errand", errand: { ...errand, note, plan } };
}

/** How the notes of those begin that run as Workflows. */
export const WORKFLOW = "workflow";

/** Work of all kinds, most of it short; its note is like no other's. */
export function anyErrand(random: Random, journal: Journal): Errand {
  const note = anyNote("errand", journal);
  const plan = Array.from({ length: random.between(1, 5) }, (_, at) => anyPart(random, at));
  const end = random.chance(0.75) ? "result" : random.of(["tool_error", "rpc_error"] as const);
  // Now and then more than one row of storage holds.
  const pad = random.chance(0.02) ? random.between(900_000, 1_500_000) : 0;
  return { note, plan, end, pad };
}

function anyPart(random: Random, at: number): Errand["plan"][number] {
  const what = random.next();
  if (what < 0.55) return { do: "step", key: `step-${at}`, ms: random.chance(0.5) ? 0 : random.below(500) };
  if (what < 0.75) return { do: "sleep", ms: random.chance(0.04) ? LONG_MS : random.between(20, 1_500) };
  if (what < 0.95) return { do: "ask", key: `question-${at}`, timeoutMs: LONG_MS };
  return { do: "stumble" };
}

/** What a question of an errand is answered with: like no other answer. */
export const anyAnswer = (random: Random): Fields => ({
  action: "accept",
  content: { v: random.next().toString(36).slice(2) },
});

/** The steps that a running errand tells of; undefined where it tells nothing. */
export function stepsIn(statusMessage: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof statusMessage !== "string" || !statusMessage.startsWith('{"step-')) return undefined;
  return JSON.parse(statusMessage) as Record<string, string>;
}

/** What an errand's result says, or its error. */
export function outcomeIn(answer: {
  readonly result?: Fields | undefined;
  readonly error?: { readonly message: string } | undefined;
}): Outcome | undefined {
  if (answer.error) return { kind: "error", report: answer.error.message };
  const [first] = (answer.result?.["content"] ?? []) as readonly { readonly text?: string }[];
  return first?.text === undefined ? undefined : { kind: "result", report: first.text };
}

/** The report of an errand that has ended by itself; null for anything else that a task may end with. */
export function reportIn(text: string | null): ErrandReport | null {
  if (text === null || !text.startsWith('{"id":')) return null;
  return JSON.parse(text) as ErrandReport;
}
