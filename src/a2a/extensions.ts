/** A message of this extension has, beside the words, a data part `{ "inputRequests": { key: { method, params } } }`. */
export const INPUT_REQUESTS_URI = "https://holdfast.dev/a2a/input-requests/v1";

/** The metadata key of facts for which A2A has no field. Times are ISO 8601, durations ms. */
export const TASK_FACTS_URI = "https://holdfast.dev/a2a/task-facts/v1";

/** Whether the client says that it knows input requests of every kind (A2A 1.0 §3.2.6; 0.3 has the header with an X). */
export const asksRequests = (headers: Headers): boolean =>
  ["A2A-Extensions", "X-A2A-Extensions"].some((name) =>
    headers
      .get(name)
      ?.split(",")
      .some((uri) => uri.trim() === INPUT_REQUESTS_URI),
  );
