import { ToolError } from "../tool/define-tool";

/** What every part of one download must agree on. JSON, so that a step can keep it. */
export type Source = {
  /** Null when the server does not say; then the end is where it has no more to give. */
  readonly total: number | null;
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** The validator for `If-Range`, if the server gave one that is strong enough. */
  readonly ifRange: string | null;
};

export type Range = { readonly length: number; readonly total: number | null };

/** The answer to a ranged request, if it is the part asked for and of the same resource. */
export async function checkedRange(response: Response, from: number, source: Source | null): Promise<Range> {
  if (response.status === 200 || response.status === 416 || response.status === 412) {
    const sameTag = response.status === 200 && source?.etag && source.etag === response.headers.get("etag");
    await response.body?.cancel();
    // RFC 9110 §13.1.5: the whole representation in answer to If-Range means that it is another one now.
    throw sameTag
      ? new ToolError("The server stopped serving ranges in the middle of the download.", { retry: true })
      : changed();
  }
  if (response.status !== 206) throw await refused(response);
  // Ranges of compressed bytes are not ranges of the file.
  if (encodingOf(response) !== null) throw await refusedEncoding(response);
  const range = parseContentRange(response.headers.get("content-range"));
  if (!range || range.first !== from) {
    await response.body?.cancel();
    throw new ToolError(
      "The server answered with another range than it was asked for, so the download cannot be pieced together.",
    );
  }
  if (source && !sameSource(source, sourceOf(response, range.total))) {
    await response.body?.cancel();
    throw changed();
  }
  return { length: range.last - range.first + 1, total: range.total };
}

export function sourceOf(response: Response, total: number | null): Source {
  const etag = response.headers.get("etag");
  const lastModified = response.headers.get("last-modified");
  const strong = etag === null ? isStrongDate(lastModified, response.headers.get("date")) : !etag.startsWith("W/");
  return { total, etag, lastModified, ifRange: strong ? (etag ?? lastModified) : null };
}

/** RFC 9110 §8.8.2.2: a date is a strong validator once the resource has been left alone for a second. */
const isStrongDate = (lastModified: string | null, date: string | null): boolean =>
  lastModified !== null && date !== null && Date.parse(date) - Date.parse(lastModified) >= 1000;

/** What one of the answers does not say cannot differ: some servers leave validators out of a 206. */
const sameSource = (one: Source, other: Source): boolean =>
  (["total", "etag", "lastModified"] as const).every(
    (fact) => one[fact] === null || other[fact] === null || one[fact] === other[fact],
  );

/** `bytes 0-99/1234`, or `*` for a total nobody knows yet. RFC 9110 §14.4. */
function parseContentRange(value: string | null): { first: number; last: number; total: number | null } | null {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/i.exec(value?.trim() ?? "");
  if (!match) return null;
  const [first, last] = [Number(match[1]), Number(match[2])];
  const total = match[3] === "*" ? null : Number(match[3]);
  return last < first || (total !== null && last >= total) ? null : { first, last, total };
}

/** Null when the body is the file as it is. */
export function encodingOf(response: Response): string | null {
  const encoding = response.headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  return encoding === "identity" ? null : encoding;
}

export async function refusedEncoding(response: Response): Promise<ToolError> {
  await response.body?.cancel();
  return new ToolError(
    `The server sends the file with Content-Encoding "${encodingOf(response)}" although asked not to, so its own bytes cannot be read.`,
  );
}

export async function refused(response: Response): Promise<ToolError> {
  await response.body?.cancel();
  const passing = response.status === 408 || response.status === 429 || response.status >= 500;
  return new ToolError(`The server answered the download with HTTP status ${response.status}.`, { retry: passing });
}

const changed = (): ToolError =>
  new ToolError("The file changed on the server while it was being read. Start again to digest the new version.");
