import type { RecordWritten } from "../record/command";
import { ok } from "./answer";
import type { Operation, StoreContext, StoreDeps } from "./deps";
import { errorAnswer, Refused } from "./errors";
import { serveEvents } from "./events";
import { given } from "./given";
import { memberOf, postedRecord } from "./posted-record";
import { ifMatch, isKnown } from "./preconditions";
import { namespaceFor } from "./record-access";
import { asOf, found, recordAnswer, writtenAnswer } from "./record-answers";
import { listText, recordText, revisionText } from "./record-text";
import {
  AsQuery,
  bodyOf,
  CleanupBody,
  CreateBody,
  EventsQuery,
  ListQuery,
  MergeBody,
  QuestionsBody,
  queryOf,
  ReplaceBody,
  ResponsesBody,
  SaveBody,
  StatusBody,
} from "./schemas";

const ALL = "/namespaces/:namespace/records";
const ONE = `${ALL}/:id`;

/** Records that servers elsewhere keep here. */
export function recordOperations(deps: StoreDeps): readonly Operation[] {
  const { config, store } = deps;

  /** What every operation begins with. */
  const callOf = <S extends typeof AsQuery>(c: StoreContext, query: S) => ({
    namespace: namespaceFor(config.namespaces, c.req.param("namespace") ?? "", c.var.principal),
    api: store.as(c.var.principal),
    id: c.req.param("id") ?? "",
    as: asOf(queryOf(c, query)),
  });

  /** A write by the rules of tasks. */
  const write = (
    method: Operation["method"],
    path: string,
    act: (call: ReturnType<typeof callOf>, c: StoreContext) => Promise<RecordWritten | null>,
    facts: Pick<Operation, "hasBody" | "condition"> = { hasBody: true },
  ): Operation => ({
    method,
    path,
    opens: "known",
    ...facts,
    serve: async (c) => {
      const call = callOf(c, AsQuery);
      if (call.namespace.kind === "document") {
        const message = `Namespace "${call.namespace.name}" keeps documents: they are replaced or saved as a whole.`;
        throw new Refused(405, "method_not_allowed", message, { headers: { Allow: "" } });
      }
      return writtenAnswer(await act(call, c));
    },
  });

  return [
    {
      method: "POST",
      path: ALL,
      opens: "known",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, as } = callOf(c, AsQuery);
        const { id, maxRows, ...body } = bodyOf(c, CreateBody);
        const draft = { ...given({ id }), ...postedRecord(c, body) };
        const idempotencyKey = c.req.header("idempotency-key")?.trim();
        const created = await api.create(namespace.name, draft, { ...as, ...given({ maxRows, idempotencyKey }) });
        if (created.kind === "taken") {
          return errorAnswer(409, "already_exists", "A record with this id is there already.");
        }
        const isNew = created.kind === "created";
        return recordAnswer(created.record, { status: isNew ? 201 : 200, changed: isNew });
      },
    },
    {
      method: "GET",
      path: ALL,
      opens: "known",
      serve: async (c) => {
        const { api, namespace, as } = callOf(c, ListQuery);
        const { records, nextCursor } = await api.list(namespace.name, as);
        const texts = records.map((record) => recordText(record));
        return ok({}, { records: listText(texts), nextCursor: JSON.stringify(nextCursor) });
      },
    },
    {
      method: "GET",
      path: ONE,
      opens: "known",
      condition: "if-none-match",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c, AsQuery);
        const record = found(await api.get(namespace.name, id, as));
        return recordAnswer(record, isKnown(c.req.raw.headers, record) ? { status: 304 } : {});
      },
    },
    {
      method: "PUT",
      path: ONE,
      opens: "known",
      hasBody: true,
      condition: "if-match",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c, AsQuery);
        const version = ifMatch(c.req.raw.headers);
        const isDocument = namespace.kind === "document";
        const body = bodyOf(c, isDocument ? SaveBody : ReplaceBody);
        const document = memberOf(c, "document");
        if (isDocument && version === undefined) {
          const record = await api.save(namespace.name, id, document, as);
          return recordAnswer(record, { status: record.version === 1 ? 201 : 200, changed: true });
        }
        const content = { ...postedRecord(c, body), document };
        return writtenAnswer(await api.replace(namespace.name, id, version ?? null, content, as));
      },
    },
    write(
      "PATCH",
      ONE,
      ({ api, namespace, id, as }, c) => {
        const changes = postedRecord(c, bodyOf(c, MergeBody));
        return api.merge(namespace.name, id, changes, { ...as, version: ifMatch(c.req.raw.headers) ?? null });
      },
      { hasBody: true, condition: "if-match" },
    ),
    {
      method: "DELETE",
      path: ONE,
      opens: "known",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c, AsQuery);
        return ok({ removed: await api.remove(namespace.name, id, as) });
      },
    },
    write("PUT", `${ONE}/status`, ({ api, namespace, id, as }, c) => {
      const { status, ...body } = bodyOf(c, StatusBody);
      return api.setStatus(namespace.name, id, status, postedRecord(c, body), as);
    }),
    write("PUT", `${ONE}/questions`, ({ api, namespace, id, as }, c) => {
      bodyOf(c, QuestionsBody);
      return api.setQuestions(namespace.name, id, memberOf(c, "inputRequests"), as);
    }),
    write("POST", `${ONE}/responses`, ({ api, namespace, id, as }, c) => {
      bodyOf(c, ResponsesBody);
      return api.resolve(namespace.name, id, memberOf(c, "inputResponses"), as);
    }),
    write("POST", `${ONE}/cancel`, ({ api, namespace, id, as }) => api.cancel(namespace.name, id, as), {}),
    {
      method: "GET",
      path: `${ONE}/events`,
      opens: "known",
      serve: (c) => serveEvents(c, deps, () => callOf(c, EventsQuery)),
    },
    {
      method: "GET",
      path: `${ONE}/revisions`,
      opens: "keepers",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c, AsQuery);
        const revisions = found(await api.revisions(namespace.name, id, as));
        return ok({}, { revisions: listText(revisions.map(revisionText)) });
      },
    },
    {
      method: "POST",
      path: "/namespaces/:namespace/cleanup",
      opens: "keepers",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, as } = callOf(c, AsQuery);
        return ok(await api.cleanup(namespace.name, bodyOf(c, CleanupBody).defaultTtlMs, as));
      },
    },
  ];
}
