import { decodeBase64url, encodeBase64url } from "../base64url";
import type { RecordPage } from "../service/record-store";
import { TaskError } from "../task/errors";

type Place = NonNullable<RecordPage["next"]>;

/**
 * Where the next page of a list begins, as text that a caller carries. It is not sealed: it only says from where on to
 * list what this caller may see anyway.
 */
export const toCursor = ({ createdAt, id }: Place): string =>
  encodeBase64url(new TextEncoder().encode(JSON.stringify([createdAt, id])));

export function fromCursor(cursor: string): Place {
  const bytes = typeof cursor === "string" ? decodeBase64url(cursor) : null;
  const [createdAt, id] = parsed(new TextDecoder().decode(bytes ?? new Uint8Array()));
  if (typeof createdAt === "number" && typeof id === "string") return { createdAt, id };
  throw new TaskError("invalid", "The cursor is not one that a list gave.");
}

function parsed(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
