import { answers } from "./answers.ts";
import { neverMore, tallies } from "./caps.ts";
import { collected } from "./collected.ts";
import { directory } from "./directory.ts";
import { ends } from "./ends.ts";
import type { Audit } from "./evidence.ts";
import { history } from "./history.ts";
import { kept } from "./kept.ts";
import { messages } from "./messages.ts";
import { once } from "./once.ts";
import { recordRows, recordsAtRest, recordsKept } from "./records.ts";
import { documentsKept, toolsKept } from "./registers.ts";
import { rows, rowsAtRest } from "./rows.ts";
import { steps } from "./steps.ts";
import { abandoned, stuck } from "./stuck.ts";
import { unchanged } from "./unchanged.ts";
import { queues, work } from "./work.ts";
import { ownEnds, workflows } from "./workflows.ts";

/** What holds at any instant, with the server dead in the middle of whatever it did. */
export const atAnyInstant: readonly Audit[] = [
  kept,
  unchanged,
  ends,
  history,
  steps,
  answers,
  messages,
  once,
  abandoned,
  rows,
  tallies,
  directory,
  work,
  recordsKept,
  recordRows,
  documentsKept,
  toolsKept,
  ownEnds,
  workflows,
];

/** What holds once there is nothing left to do. */
export const atRest: readonly Audit[] = [
  ...atAnyInstant,
  stuck,
  rowsAtRest,
  collected,
  neverMore,
  recordsAtRest,
  queues,
];
