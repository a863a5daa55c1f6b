import type { StoredRecord } from "./record";

/** Whether what is the caller's to fill takes more than so many bytes of UTF-8. */
export function isLarger({ document, task }: Pick<StoredRecord, "document" | "task">, bytes: number): boolean {
  const values = [document, ...(task ? Object.values(task) : [])];
  const texts = values.filter((value) => typeof value === "string");
  // A UTF-16 unit is at most three bytes, so most records need no counting.
  if (sum(texts.map((text) => text.length * 3)) <= bytes) return false;
  return sum(texts.map(utf8Bytes)) > bytes;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Two bytes to U+07FF, three beyond; each half of a surrogate pair stands for two of four.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
