import type { Caller, KnownRecord, RecordSeen } from "../record-book.ts";
import type { Server } from "../server.ts";
import { exchange, type Exchange, type Fields, type Reply } from "../wire.ts";

type Sent = Pick<Exchange, "method" | "body"> & { readonly headers?: Readonly<Record<string, string>> };

/** A request of the store API. */
export const requestStore = (
  server: Server,
  as: Caller,
  path: string,
  { headers, ...sent }: Sent = {},
): Promise<Reply> =>
  exchange(server, {
    path: `/store/v1${path}`,
    headers: { Authorization: `Bearer ${as}`, Accept: "application/json", ...headers },
    ...sent,
  });

/** What the answer says. The store API's are no messages of JSON-RPC. */
export const bodyOf = ({ message }: Extract<Reply, { kind: "answer" }>): Fields => (message ?? {}) as Fields;

export const pathOf = ({ namespace, id, query }: Pick<KnownRecord, "namespace" | "id" | "query">, below = ""): string =>
  `/namespaces/${namespace}/records/${id}${below}${query}`;

/** The record in an answer, without what the answer says beside it. */
export function seenIn({ changed: _, ...record }: Fields): RecordSeen {
  return record as RecordSeen;
}
