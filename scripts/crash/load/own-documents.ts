// Servers that save whole documents, each its own and whatever lies there: the last save that was acknowledged counts.
import type { Journal } from "../journal.ts";
import type { Random } from "../random.ts";
import type { RecordPlace, RecordSeen } from "../record-book.ts";
import { keeperOf, keepsDocuments, PLACES } from "../record-places.ts";
import type { Content, Register } from "../register.ts";
import type { Server } from "../server.ts";
import type { Door } from "./door.ts";
import { forEach } from "./for-each.ts";
import { refusal } from "./refusals.ts";
import { bodyOf, pathOf, requestStore } from "./store-client.ts";

/** In each place: few, so that there are many saves of each. */
const DOCUMENTS = 8;
const MOST_ACTS = 4;

type Where = RecordPlace & { readonly id: string };

const ALL: readonly Where[] = PLACES.filter(keepsDocuments).flatMap((place) =>
  Array.from({ length: DOCUMENTS }, (_, at) => ({ ...place, id: `own-${at}` })),
);

export class OwnDocuments implements Door {
  readonly name = "documents";
  readonly weight = 2;
  readonly #server: Server;
  #saves = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  async act(random: Random, journal: Journal): Promise<void> {
    const where = random.of(ALL);
    await journal.documents.alone(nameOf(where), async (register) => {
      for (let acts = random.between(1, MOST_ACTS); acts > 0; acts -= 1) {
        const what = random.next();
        if (what < 0.65) await this.#save(where, register, random, journal);
        else if (what < 0.75) await this.#remove(where, register, journal);
        else await this.#read(where, register, journal);
      }
    });
  }

  async verify(journal: Journal): Promise<void> {
    await forEach(ALL, async (where) => {
      const held = await this.#read(where, journal.documents.of(nameOf(where)), journal);
      if (held === null) return;
      const { as, query } = keeperOf(where);
      const reply = await requestStore(this.#server, as, pathOf({ ...where, query }, "/revisions"), { method: "GET" });
      if (reply.kind === "lost") return;
      const { revisions } = bodyOf(reply) as { readonly revisions?: readonly Saved[] };
      const newest = revisions?.[0]?.document.save;
      if (newest !== held)
        journal.found("saves are kept", `${nameOf(where)} is ${held}, and was last saved ${newest}.`);
    });
  }

  /** Saved documents have no ttl. */
  async clear(journal: Journal): Promise<void> {
    await forEach(ALL, (where) => this.#remove(where, journal.documents.of(nameOf(where)), journal));
  }

  async #save(where: Where, register: Register, random: Random, journal: Journal): Promise<void> {
    this.#saves += 1;
    const save = `own-save-${this.#saves}`;
    const body = { document: { save, text: "x".repeat(random.below(2_000)) } };
    register.writing(save);
    const reply = await requestStore(this.#server, where.as, pathOf(where), { method: "PUT", body });
    if (reply.kind === "lost") return journal.count("saves lost");
    if (reply.status !== 200 && reply.status !== 201) return refusal(journal, `The save of ${nameOf(where)}`, reply);
    register.holds(save);
    journal.count("saves acknowledged");
  }

  async #remove(where: Where, register: Register, journal: Journal): Promise<void> {
    const [mayBeThere, mayBeGone] = [register.held !== null || !register.isSure, register.mayHold(null)];
    register.writing(null);
    const reply = await requestStore(this.#server, where.as, pathOf(where), { method: "DELETE" });
    if (reply.kind === "lost") return;
    const { removed } = bodyOf(reply);
    if (typeof removed !== "boolean") return refusal(journal, `The removal of ${nameOf(where)}`, reply);
    if (removed ? !mayBeThere : !mayBeGone)
      journal.found("saves are kept", `The removal of ${nameOf(where)} told ${removed}: it was ${register.told()}.`);
    register.holds(null);
    journal.count("removals acknowledged");
  }

  /** Null also where there was no answer. */
  async #read(where: Where, register: Register, journal: Journal): Promise<Content> {
    const reply = await requestStore(this.#server, where.as, pathOf(where), { method: "GET" });
    if (reply.kind === "lost") return null;
    if (reply.status !== 200 && reply.status !== 404) {
      refusal(journal, `Reading ${nameOf(where)}`, reply);
      return null;
    }
    const read = reply.status === 404 ? null : (bodyOf(reply) as Saved).document.save;
    if (!register.mayHold(read))
      journal.found("saves are kept", `${nameOf(where)} is to be ${register.told()}, and reads ${read ?? "nothing"}.`);
    register.holds(read);
    return read;
  }
}

type Saved = { readonly document: Required<Pick<RecordSeen["document"], "save">> };

const nameOf = ({ namespace, id }: Where): string => `${namespace}/${id}`;
