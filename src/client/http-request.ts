import { membersOf } from "../record/members";
import type { RecordWritten } from "../record/command";
import { isObject, type Json, type JsonText } from "../task/json";
import { HttpTaskError } from "./http-error";
import { recordFrom } from "./record-from-text";

export type Sent = {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonText;
  readonly signal?: AbortSignal | undefined;
};

export type Received = { readonly status: number; readonly text: JsonText };

/** One request, and its answer whatever its status is. */
export const sender =
  (base: string, token: string | undefined, request: typeof fetch) =>
  async (method: string, path: string, { query = {}, headers, body, signal }: Sent = {}): Promise<Received> => {
    const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]]));
    const search = given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
    const response = await request(`${base}${path}${search}`, {
      method,
      headers: {
        Accept: "application/json",
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
    return { status: response.status, text: await response.text() };
  };

/** The error's code, if the answer has that status. */
export function codeOf({ status, text }: Received, wanted: number): string | null {
  return status === wanted ? new HttpTaskError(status, text).wireCode : null;
}

/** Whether it is the record that is missing, and not its namespace or the whole API. */
export function isMissing({ status, text }: Received): boolean {
  if (status !== 404) return false;
  const body = parsed(text);
  return isObject(body) && body["record"] === null;
}

/** The answer, if it is a success; what it is else is thrown. */
export function succeeded(received: Received): Received {
  if (received.status >= 200 && received.status < 300) return received;
  throw new HttpTaskError(received.status, received.text);
}

/** What a write came to: refusals that tell the record as it is now are values. */
export function writtenFrom(received: Received): RecordWritten | null {
  if (isMissing(received)) return null;
  if (codeOf(received, 412) === "stale") return { kind: "stale", record: recordBeside(received) };
  if (codeOf(received, 409) === "terminal") return { kind: "terminal", record: recordBeside(received) };
  const { text } = succeeded(received);
  return { kind: membersOf(text).get("changed") === "false" ? "unchanged" : "written", record: recordFrom(text) };
}

const recordBeside = ({ text }: Received) => recordFrom(membersOf(text).get("record") ?? "{}");

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
