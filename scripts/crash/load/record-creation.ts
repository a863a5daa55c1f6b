import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { RecordPlace } from "../record-book.ts";
import { keepsDocuments } from "../record-places.ts";
import type { Server } from "../server.ts";
import type { Fields } from "../wire.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore, seenIn } from "./store-client.ts";

/** Past all that the clock is moved by until all has been asked for again. */
const TTL_MS = 86_400_000;

let last = 0;

/**
 * Under an id of its own, or with a key, it is the same creation however often it is made. `making`: the ids that nobody
 * may touch yet, for what was taken away meanwhile would be made anew.
 */
export async function createRecord(
  server: Server,
  place: RecordPlace,
  making: Set<string>,
  random: Random,
  journal: Journal,
): Promise<void> {
  last += 1;
  const number = last;
  const id = random.chance(0.5) ? `record-${number}` : undefined;
  const key = random.chance(0.5) ? `key-of-record-${number}` : undefined;
  const isRepeatable = id !== undefined || key !== undefined;
  const content = anyContent(place, number, random);
  const body = { ...content, ...(id === undefined ? {} : { id }) };
  const headers = key === undefined ? {} : { "Idempotency-Key": key };
  // What may expire meanwhile would be another record the second time.
  const lasts = content["ttlMs"] === TTL_MS;
  let times = isRepeatable && lasts && random.chance(0.2) ? 2 : 1;
  const path = `/namespaces/${place.namespace}/records${place.query}`;
  let made: string | null = null;
  for (let tries = 1; times > 0; tries += 1) {
    const reply = await requestStore(server, place.as, path, { method: "POST", headers, body });
    if (reply.kind === "lost") {
      journal.count("calls lost");
      if (!isRepeatable) return;
      continue;
    }
    times -= 1;
    if (reply.status === 201 || (reply.status === 200 && tries > 1)) {
      const seen = seenIn(bodyOf(reply));
      made = seen.id;
      if (times > 0) making.add(made);
      journal.records.acknowledged(place, seen);
      if (id !== undefined && made !== id)
        journal.found("records are kept", `A record was to be ${id}, and became ${made}.`);
    } else if (reply.status === 409 && tries > 1 && id !== undefined) {
      // Somebody made it before: that was us.
      await find(server, { ...place, id }, journal);
    } else refusal(journal, `The creation of record ${number}`, reply);
  }
  if (made !== null) making.delete(made);
}

function anyContent(place: RecordPlace, number: number, random: Random): Fields {
  const isDocument = keepsDocuments(place);
  // Some are saved whatever lies there, by everybody; the others are added to.
  const isSaved = isDocument && random.chance(0.5);
  const document = { counter: 0, text: "x".repeat(random.below(200)), ...(isSaved ? { save: `first-${number}` } : {}) };
  if (isSaved) return { ttlMs: TTL_MS, document };
  if (random.chance(0.15)) return { ttlMs: random.between(2_000, 8_000), document, ...taskOf(isDocument, number) };
  // What has no ttl goes with a cleanup, some time after its end.
  const lasts = !isDocument && random.chance(0.3);
  const forever = place.namespace === "none" ? 0 : null;
  return { ttlMs: lasts ? forever : TTL_MS, document, ...taskOf(isDocument, number) };
}

const taskOf = (isDocument: boolean, number: number): Fields =>
  isDocument ? {} : { task: { statusMessage: `record ${number}` } };

async function find(server: Server, where: RecordPlace & { readonly id: string }, journal: Journal): Promise<void> {
  const reply = await requestStore(server, where.as, pathOf(where), { method: "GET" });
  if (reply.kind === "answer" && reply.status === 200) journal.records.acknowledged(where, seenIn(bodyOf(reply)));
}
