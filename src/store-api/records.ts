import type { Namespace } from "../record/record";
import { ok, toResponse } from "./answer";
import type { As, StoreApi } from "./api";
import type { Operation, StoreContext, StoreDeps } from "./deps";
import { errorAnswer, Refused } from "./errors";
import { serveEvents } from "./events";
import { memberOf, postedRecord } from "./posted-record";
import { ifMatch, isKnown } from "./preconditions";
import { namespaceFor } from "./record-access";
import { asOf, found, recordAnswer, writtenAnswer } from "./record-answers";
import { listText, recordText, revisionText } from "./record-text";
import {
  AsQuery,
  CleanupBody,
  CreateBody,
  ListQuery,
  MergeBody,
  QuestionsBody,
  read,
  readQuery,
  ReplaceBody,
  ResponsesBody,
  SaveBody,
  StatusBody,
} from "./schemas";

const ALL = "/namespaces/:namespace/records";
const ONE = `${ALL}/:id`;

/** One request to one record: what every operation on it begins with. */
export type RecordCall = {
  readonly api: StoreApi;
  readonly namespace: Namespace;
  readonly id: string;
  readonly as: As;
};

/** Records that servers elsewhere keep here. */
export function recordOperations(deps: StoreDeps): readonly Operation[] {
  const { config, store } = deps;

  const namespaceOf = (c: StoreContext): Namespace =>
    namespaceFor(config.namespaces, c.req.param("namespace") ?? "", c.var.principal);

  const callOf = (c: StoreContext): RecordCall => ({
    api: store.as(c.var.principal),
    namespace: namespaceOf(c),
    id: c.req.param("id") ?? "",
    as: asOf(readQuery(AsQuery, c.req.queries())),
  });

  /** The same where the rules of tasks must hold. */
  function taskCallOf(c: StoreContext): RecordCall {
    const call = callOf(c);
    if (call.namespace.kind === "document") {
      const message = `Namespace "${call.namespace.name}" keeps documents: they are replaced or saved as a whole.`;
      throw new Refused(405, "method_not_allowed", message, { headers: { Allow: "" } });
    }
    return call;
  }

  return [
    {
      method: "POST",
      path: ALL,
      opens: "known",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, as } = callOf(c);
        const body = read(CreateBody, c.var.posted.value, "body");
        const draft = { ...(body.id === undefined ? {} : { id: body.id }), ...postedRecord(body, c.var.posted.text) };
        const idempotencyKey = c.req.header("idempotency-key")?.trim();
        const created = await api.create(namespace.name, draft, {
          ...as,
          ...(body.maxRows === undefined ? {} : { maxRows: body.maxRows }),
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        });
        if (created.kind === "taken") {
          return toResponse(errorAnswer(409, "already_exists", "A record with this id is there already."));
        }
        const isNew = created.kind === "created";
        return toResponse(recordAnswer(created.record, { status: isNew ? 201 : 200, changed: isNew }));
      },
    },
    {
      method: "GET",
      path: ALL,
      opens: "known",
      serve: async (c) => {
        const { name } = namespaceOf(c);
        const { owner, unowned, any, ...page } = readQuery(ListQuery, c.req.queries());
        const query = Object.fromEntries(Object.entries(page).filter(([, value]) => value !== undefined));
        const { records, nextCursor } = await store
          .as(c.var.principal)
          .list(name, { ...asOf({ owner, unowned, any }), ...query });
        const texts = listText(records.map((record) => recordText(record)));
        return toResponse(ok(`{"records":${texts},"nextCursor":${JSON.stringify(nextCursor)}}`));
      },
    },
    {
      method: "GET",
      path: ONE,
      opens: "known",
      condition: "if-none-match",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c);
        const record = found(await api.get(namespace.name, id, as));
        return toResponse(recordAnswer(record, isKnown(c.req.raw.headers, record) ? { status: 304 } : {}));
      },
    },
    {
      method: "PUT",
      path: ONE,
      opens: "known",
      hasBody: true,
      condition: "if-match",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c);
        const { value, text } = c.var.posted;
        const version = ifMatch(c.req.raw.headers);
        if (namespace.kind === "document" && version === undefined) {
          read(SaveBody, value, "body");
          const record = await api.save(namespace.name, id, postedRecord({}, text).document ?? "{}", as);
          return toResponse(recordAnswer(record, { status: record.version === 1 ? 201 : 200, changed: true }));
        }
        const body = read(namespace.kind === "document" ? SaveBody : ReplaceBody, value, "body");
        const { document = "{}", ...content } = postedRecord(body, text);
        const written = await api.replace(namespace.name, id, version ?? null, { document, ...content }, as);
        return toResponse(writtenAnswer(written));
      },
    },
    {
      method: "PATCH",
      path: ONE,
      opens: "known",
      hasBody: true,
      condition: "if-match",
      serve: async (c) => {
        const { api, namespace, id, as } = taskCallOf(c);
        const changes = postedRecord(read(MergeBody, c.var.posted.value, "body"), c.var.posted.text);
        const version = ifMatch(c.req.raw.headers) ?? null;
        return toResponse(writtenAnswer(await api.merge(namespace.name, id, changes, { ...as, version })));
      },
    },
    {
      method: "DELETE",
      path: ONE,
      opens: "known",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c);
        return toResponse(ok(`{"removed":${await api.remove(namespace.name, id, as)}}`));
      },
    },
    {
      method: "PUT",
      path: `${ONE}/status`,
      opens: "known",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, id, as } = taskCallOf(c);
        const body = read(StatusBody, c.var.posted.value, "body");
        const changes = postedRecord(body, c.var.posted.text);
        return toResponse(writtenAnswer(await api.setStatus(namespace.name, id, body.status, changes, as)));
      },
    },
    {
      method: "PUT",
      path: `${ONE}/questions`,
      opens: "known",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, id, as } = taskCallOf(c);
        read(QuestionsBody, c.var.posted.value, "body");
        const requests = memberOf(c, "inputRequests");
        return toResponse(writtenAnswer(await api.setQuestions(namespace.name, id, requests, as)));
      },
    },
    {
      method: "POST",
      path: `${ONE}/responses`,
      opens: "known",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, id, as } = taskCallOf(c);
        read(ResponsesBody, c.var.posted.value, "body");
        const responses = memberOf(c, "inputResponses");
        return toResponse(writtenAnswer(await api.resolve(namespace.name, id, responses, as)));
      },
    },
    {
      method: "POST",
      path: `${ONE}/cancel`,
      opens: "known",
      serve: async (c) => {
        const { api, namespace, id, as } = taskCallOf(c);
        return toResponse(writtenAnswer(await api.cancel(namespace.name, id, as)));
      },
    },
    { method: "GET", path: `${ONE}/events`, opens: "known", serve: (c) => serveEvents(c, deps, namespaceOf(c)) },
    {
      method: "GET",
      path: `${ONE}/revisions`,
      opens: "keepers",
      serve: async (c) => {
        const { api, namespace, id, as } = callOf(c);
        const revisions = found(await api.revisions(namespace.name, id, as));
        return toResponse(ok(`{"revisions":${listText(revisions.map(revisionText))}}`));
      },
    },
    {
      method: "POST",
      path: "/namespaces/:namespace/cleanup",
      opens: "keepers",
      hasBody: true,
      serve: async (c) => {
        const { api, namespace, as } = callOf(c);
        const { defaultTtlMs } = read(CleanupBody, c.var.posted.value, "body");
        return toResponse(ok(JSON.stringify(await api.cleanup(namespace.name, defaultTtlMs, as))));
      },
    },
  ];
}
