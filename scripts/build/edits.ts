export type Edit = { readonly start: number; readonly end: number; readonly text: string };

/** The code with each piece from `start` to `end` replaced; none overlaps another. */
export function edited(code: string, edits: readonly Edit[]): string {
  let from = 0;
  let text = "";
  for (const { start, end, text: instead } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    text += code.slice(from, start) + instead;
    from = end;
  }
  return text + code.slice(from);
}
