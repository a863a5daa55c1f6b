import type { StoredRecord } from "../record/record";
import { TaskError } from "../task/errors";

// RFC 9110 §13. The tag is the version: a proxy that marks it as weak, because it compressed the answer, did not change it.

export const etagOf = ({ version }: Pick<StoredRecord, "version">): string => `"${version}"`;

/** Which version a write wants to meet; null for any, undefined where the request says nothing. */
export function ifMatch(headers: Headers): number | null | undefined {
  const wanted = headers.get("if-match")?.trim();
  if (wanted === undefined) return undefined;
  if (wanted === "*") return null;
  const version = versionOf(wanted);
  if (version === null) throw new TaskError("invalid", "If-Match takes one ETag of this record, or *.");
  return version;
}

/** Whether the client has this version already. */
export function isKnown(headers: Headers, { version }: StoredRecord): boolean {
  const tags = headers.get("if-none-match")?.split(",") ?? [];
  return tags.some((tag) => tag.trim() === "*" || versionOf(tag.trim()) === version);
}

/** A write must not happen under a condition that nobody looked at. */
export function noOtherCondition(headers: Headers, understood: string | undefined): void {
  for (const name of ["if-match", "if-none-match", "if-unmodified-since"]) {
    if (name !== understood && headers.has(name)) throw new TaskError("invalid", `${name} means nothing here.`);
  }
}

function versionOf(tag: string): number | null {
  const [, digits] = /^(?:W\/)?"(\d{1,15})"$/.exec(tag) ?? [];
  return digits === undefined ? null : Number(digits);
}
