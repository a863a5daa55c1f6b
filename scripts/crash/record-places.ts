// The namespaces of the fixture Worker, each as the servers use it that keep something there.
import type { Caller, RecordPlace } from "./record-book.ts";

export const PLACES: readonly RecordPlace[] = [
  { namespace: "default", as: "owner-a", query: "" },
  { namespace: "default", as: "owner-b", query: "" },
  { namespace: "documents", as: "owner-a", query: "" },
  { namespace: "strict", as: "worker", query: "?owner=somebody" },
  { namespace: "lenient", as: "worker", query: "?owner=somebody" },
  { namespace: "lenient", as: "worker", query: "?unowned=true" },
  { namespace: "none", as: "worker", query: "" },
  { namespace: "files", as: "worker", query: "" },
];

/** A caller, and for whom it says it calls. */
export type As = { readonly as: Caller; readonly query: string };

/** Where each owner's records are its own. */
const APART: readonly string[] = ["default", "documents"];

export const keepsDocuments = ({ namespace }: Pick<RecordPlace, "namespace">): boolean =>
  namespace === "documents" || namespace === "files";

/** What lies together: it is listed and cleaned up as one. */
export const spaceOf = ({ namespace, as }: RecordPlace): string =>
  APART.includes(namespace) ? `${namespace} of ${as}` : namespace;

/** One place of each space. */
export const SPACES: readonly RecordPlace[] = [...new Map(PLACES.map((place) => [spaceOf(place), place])).values()];

/** Who may clean a space up, and read the revisions of its documents. */
export const keeperOf = ({ namespace, as }: RecordPlace): As =>
  APART.includes(namespace) ? { as: "admin", query: `?owner=${ownerOf(as)}` } : { as: "worker", query: "?any=true" };

/** As a query names who has a token of the deployment. */
const ownerOf = (as: Caller): string => encodeURIComponent(JSON.stringify(["holdfast:token", as]));

/** Who is shown all of a space. One of them is listed to nobody but admins. */
export const listerOf = ({ namespace, as }: RecordPlace): As =>
  APART.includes(namespace) ? { as, query: "" } : { as: "admin", query: "?any=true" };
