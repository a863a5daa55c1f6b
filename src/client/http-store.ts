import type { RecordWritten } from "../record/command";
import type { StoreApi } from "../store-api/api";
import { mustBeId } from "../store-api/record-rules";
import { codeOf, isMissing, sender, succeeded, writtenFrom, type Sent } from "./http-request";
import { entryFrom, listFrom, recordFrom, revisionFrom } from "./record-from-text";
import {
  contentText,
  headerText,
  objectText,
  plain,
  recordPath,
  recordsPath,
  namespacePath,
  valid,
  whose,
} from "./request-text";

export type HttpStoreOptions = {
  /** Of the deployment, such as `https://holdfast.example`. */
  readonly url: string;
  /** The bearer token; left out where anonymous callers are let in. */
  readonly token?: string;
  readonly fetch?: typeof fetch;
};

/** What one request may wait for; a longer wait is the caller's to go on with. */
const LONGEST_WAIT_MS = 30_000;

/** The store API over HTTP: values and errors as they are in process. The caller's own JSON travels as the text it is. */
export function httpStore({ url, token, fetch: request = fetch }: HttpStoreOptions): StoreApi {
  const send = sender(`${url.replace(/\/+$/, "")}/store/v1/namespaces/`, token, request);

  /** A call that writes one record; null where there is none. */
  async function write(method: string, path: string | null, sent: Sent): Promise<RecordWritten | null> {
    return path === null ? null : writtenFrom(await send(method, path, sent));
  }

  return {
    async create(namespace, { id, ...draft }, { maxRows, idempotencyKey, ...as } = {}) {
      if (id !== undefined) mustBeId(id);
      const received = await send("POST", recordsPath(namespace), {
        query: whose(as),
        headers: idempotencyKey === undefined ? {} : { "Idempotency-Key": headerText(idempotencyKey) },
        body: objectText({ id: plain(id), maxRows: plain(maxRows), ...contentText(draft) }),
      });
      if (codeOf(received, 409) === "already_exists") return { kind: "taken" };
      const { status, text } = succeeded(received);
      return { kind: status === 201 ? "created" : "existing", record: recordFrom(text) };
    },
    async get(namespace, id, as) {
      const path = recordPath(namespace, id);
      const received = path === null ? null : await send("GET", path, { query: whose(as) });
      return received === null || isMissing(received) ? null : recordFrom(succeeded(received).text);
    },
    replace: async (namespace, id, version, content, as) =>
      write("PUT", recordPath(namespace, id), {
        query: whose(as),
        // Without a condition it would be a save where documents are kept.
        headers: { "If-Match": version === null ? "*" : `"${version}"` },
        body: objectText(contentText(content)),
      }),
    merge: async (namespace, id, changes, { version = null, ...as } = {}) =>
      write("PATCH", recordPath(namespace, id), {
        query: whose(as),
        headers: version === null ? {} : { "If-Match": `"${version}"` },
        body: objectText(contentText(changes)),
      }),
    async save(namespace, id, document, as) {
      mustBeId(id);
      const body = objectText(contentText({ document }));
      return recordFrom(succeeded(await send("PUT", recordPath(namespace, id) ?? "", { query: whose(as), body })).text);
    },
    setStatus: async (namespace, id, status, changes = {}, as = {}) =>
      write("PUT", recordPath(namespace, id, "/status"), {
        query: whose(as),
        body: objectText({ status: plain(status), ...contentText(changes, { withStatus: false }) }),
      }),
    setQuestions: async (namespace, id, requests, as) =>
      write("PUT", recordPath(namespace, id, "/questions"), {
        query: whose(as),
        body: objectText({ inputRequests: valid(requests) }),
      }),
    resolve: async (namespace, id, responses, as) =>
      write("POST", recordPath(namespace, id, "/responses"), {
        query: whose(as),
        body: objectText({ inputResponses: valid(responses) }),
      }),
    cancel: async (namespace, id, as) => write("POST", recordPath(namespace, id, "/cancel"), { query: whose(as) }),
    async remove(namespace, id, as) {
      const path = recordPath(namespace, id);
      if (path === null) return false;
      const { removed } = JSON.parse(succeeded(await send("DELETE", path, { query: whose(as) })).text) as {
        removed: boolean;
      };
      return removed;
    },
    async list(namespace, { status, limit, cursor, ...as } = {}) {
      const query = { status, limit, cursor, ...whose(as) };
      const { text } = succeeded(await send("GET", recordsPath(namespace), { query }));
      const { nextCursor } = JSON.parse(text) as { nextCursor: string | null };
      return { records: listFrom(text, "records", recordFrom), nextCursor };
    },
    async cleanup(namespace, defaultTtlMs, as) {
      const body = objectText({ defaultTtlMs: plain(defaultTtlMs) });
      const { text } = succeeded(await send("POST", `${namespacePath(namespace)}/cleanup`, { query: whose(as), body }));
      return JSON.parse(text) as { removed: number; more: boolean };
    },
    async events(namespace, id, { after, waitMs, signal, ...as } = {}) {
      const path = recordPath(namespace, id, "/events");
      const query = { after, waitMs: waitMs && Math.min(waitMs, LONGEST_WAIT_MS), ...whose(as) };
      try {
        const received = path === null ? null : await send("GET", path, { query, signal });
        if (received === null || isMissing(received)) return null;
        const { text } = succeeded(received);
        const { cursor, gone } = JSON.parse(text) as { cursor: number; gone: boolean };
        return gone ? null : { entries: listFrom(text, "entries", entryFrom), cursor };
      } catch (thrown) {
        if (signal?.aborted) return { entries: [], cursor: after ?? 0 };
        throw thrown;
      }
    },
    async revisions(namespace, id, as) {
      const path = recordPath(namespace, id, "/revisions");
      const received = path === null ? null : await send("GET", path, { query: whose(as) });
      if (received === null || isMissing(received)) return null;
      return listFrom(succeeded(received).text, "revisions", revisionFrom);
    },
  };
}
