import type { RecordWritten } from "../record/command";
import type { RecordEntry, RecordStatus, StoredRecord } from "../record/record";
import { taskOf } from "./stage";

/** What a caller does. `note` is new each time, so that every write leaves a trace. */
export type Act =
  | { readonly kind: "get" }
  /** A function of the task as it was read at that version. */
  | { readonly kind: "update"; readonly version: number; readonly note: string }
  | { readonly kind: "merge"; readonly note: string; readonly status?: RecordStatus }
  | { readonly kind: "set_status"; readonly note: string; readonly status: RecordStatus }
  | { readonly kind: "ask"; readonly note: string; readonly key: string }
  | { readonly kind: "answer"; readonly note: string; readonly key: string }
  | { readonly kind: "cancel" };

/** A task as far as the acts change it. */
export type Model = {
  readonly version: number;
  readonly status: RecordStatus;
  readonly message: string | null;
  readonly document: Readonly<Record<string, unknown>>;
  readonly open: Readonly<Record<string, unknown>>;
  readonly answers: Readonly<Record<string, unknown>>;
};

export type Step = {
  readonly kind: RecordWritten["kind"];
  readonly after: Model;
  /** What the log says of it. */
  readonly event: RecordEntry["event"] | null;
};

export function modelOf(record: StoredRecord): Model {
  const { status, statusMessage, inputRequests, inputResponses } = taskOf(record);
  return {
    version: record.version,
    status,
    message: statusMessage,
    document: JSON.parse(record.document) as Model["document"],
    open: JSON.parse(inputRequests) as Model["open"],
    answers: JSON.parse(inputResponses) as Model["answers"],
  };
}

/** What the contract says an act comes to: written down apart from any store, in its plainest form. */
export function stepOf(model: Model, act: Act): Step {
  const ended = ["completed", "failed", "cancelled"].includes(model.status);
  const nothing = (kind: Step["kind"]): Step => ({ kind, after: model, event: null });
  const written = (changes: Partial<Model>, event?: RecordEntry["event"]): Step => {
    const after = { ...model, ...changes, version: model.version + 1 };
    const kind = after.status === "cancelled" && model.status !== "cancelled" ? "cancelled" : "written";
    return { kind: "written", after, event: event ?? { kind, status: after.status } };
  };
  switch (act.kind) {
    case "get":
      return nothing("unchanged");
    case "update":
      if (act.version !== model.version) return nothing("stale");
      return written({ document: { ...model.document, [act.note]: 1 }, message: act.note });
    case "merge":
      if (ended && act.status !== undefined && act.status !== model.status) return nothing("terminal");
      return written({ document: { ...model.document, [act.note]: 1 }, status: act.status ?? model.status });
    case "set_status":
      return ended ? nothing("terminal") : written({ status: act.status, message: act.note });
    case "ask": {
      if (ended) return nothing("unchanged");
      const open = { ...model.open, [act.key]: { asks: act.note } };
      return written({ status: "input_required", open }, { kind: "asked", keys: [act.key] });
    }
    case "answer": {
      if (ended || !(act.key in model.open)) return nothing("unchanged");
      const { [act.key]: _, ...open } = model.open;
      const status = Object.keys(open).length === 0 ? "working" : model.status;
      const answers = { ...model.answers, [act.key]: { says: act.note } };
      const response = JSON.stringify({ says: act.note });
      return written({ status, open, answers }, { kind: "answered", key: act.key, response });
    }
    case "cancel":
      return ended ? nothing("unchanged") : written({ status: "cancelled" });
  }
}
