import type { StoredRecord } from "./record";

/** Whether what is the caller's to fill takes more than so many bytes of UTF-8. */
export function isLarger({ document, task }: Pick<StoredRecord, "document" | "task">, bytes: number): boolean {
  const values = [document, ...(task ? Object.values(task) : [])];
  const text = values.filter((value) => typeof value === "string").join("");
  // A UTF-16 unit is at most three bytes, so most records need no counting.
  return text.length * 3 > bytes && new TextEncoder().encode(text).byteLength > bytes;
}
