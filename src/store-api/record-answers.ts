import type { RecordWritten } from "../record/command";
import type { StoredRecord } from "../record/record";
import type { Answer } from "./answer";
import type { As } from "./api";
import { errorAnswer, Refused } from "./errors";
import { given } from "./given";
import { etagOf } from "./preconditions";
import { mustBeForOne } from "./record-access";
import { recordText } from "./record-text";
import type { WhoseQuery } from "./schemas";

/** A query in the words of the API: for whom it is, and what else it says. */
export function asOf<Q extends WhoseQuery>({ owner, unowned, any, ...rest }: Q) {
  mustBeForOne(owner, unowned, any);
  const whose: As = any ? { any: true } : given({ owner: unowned ? null : owner });
  return { ...given(rest), ...whose };
}

/** Missing, foreign and expired read the same. That it is the record which is missing stands beside the error. */
export function found<T>(value: T | null): T {
  if (value !== null) return value;
  throw new Refused(404, "not_found", "No such record, or it has expired.", { beside: { record: null } });
}

type RecordFacts = { readonly status?: number; readonly changed?: boolean };

export const recordAnswer = (record: StoredRecord, { status = 200, changed }: RecordFacts = {}): Answer => ({
  status,
  text: recordText(record, changed),
  headers: { ETag: etagOf(record), "Cache-Control": "private, no-cache" },
});

/** What became of a write: a success, or why not and the record as it is now. */
export function writtenAnswer(written: RecordWritten | null): Answer {
  const { kind, record } = found(written);
  const facts = { headers: { ETag: etagOf(record) }, beside: { record: recordText(record) } };
  switch (kind) {
    case "written":
      return recordAnswer(record, { changed: true });
    case "unchanged":
      return recordAnswer(record, { changed: false });
    case "stale":
      return errorAnswer(412, "stale", "The record has been written since; this is how it is now.", facts);
    case "terminal":
      return errorAnswer(409, "terminal", "The status of the record is final; nothing was changed.", facts);
  }
}
