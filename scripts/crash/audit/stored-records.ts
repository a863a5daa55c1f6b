// What the objects of records and their queues hold.
import type { StoredRecord } from "../../../src/record/record.ts";
import type { Rows } from "./disk.ts";
import type { RecordOnDisk, Storage, StoredTools } from "./storage.ts";

export function recordIn(rows: Rows): RecordOnDisk | null {
  const [row] = rows("fact");
  if (!row) return null;
  const { id, index, mark, texts, record } = JSON.parse(String(row["facts"])) as StoredFacts;
  const [, namespace] = JSON.parse(index) as readonly string[];
  return {
    namespace: String(namespace),
    // An id that its client chose is marked as such.
    id: id.replace(/^=/, ""),
    version: record?.version ?? null,
    status: record?.task?.status ?? null,
    expiresAt: typeof record?.ttlMs === "number" ? record.createdAt + record.ttlMs : null,
    index,
    mark,
    documents: documentsIn(rows, texts?.document?.version),
  };
}

/** The kept saves, and the present document: it lies under the version that last wrote it. */
function documentsIn(rows: Rows, written: number | undefined): ReadonlyMap<number, string> {
  const versions = new Set(rows("revision").map(({ version }) => Number(version)));
  if (written !== undefined) versions.add(written);
  const parts = Map.groupBy(
    rows("text")
      .filter(({ slot }) => slot === "document")
      .toSorted((a, b) => Number(a["part"]) - Number(b["part"])),
    ({ version }) => Number(version),
  );
  return new Map(
    [...versions].map((version) => {
      const bytes = (parts.get(version) ?? []).map((part) => part["bytes"] as Uint8Array);
      return [version, Buffer.concat(bytes).toString()];
    }),
  );
}

type StoredFacts = {
  readonly id: string;
  readonly index: string;
  readonly mark: string;
  readonly texts?: { readonly document?: { readonly version: number } };
  readonly record: Pick<StoredRecord, "version" | "createdAt" | "ttlMs" | "task"> | null;
};

export const queuedIn = (rows: Rows): Storage["queued"] => {
  const [named] = rows("__miniflare_do_name");
  return rows("task").map(({ id }) => ({ queue: String(named?.["name"]), id: String(id) }));
};

/** Null where none was ever declared. */
export function toolsIn(rows: Rows): StoredTools | null {
  const [list] = rows("list");
  if (!list) return null;
  const declared = rows("tool").map(({ name, declaration }) => [String(name), String(declaration)] as const);
  return { declared: new Map(declared), counted: Number(list["tools"]) };
}
