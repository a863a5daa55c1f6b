import type { Asker, Namespace } from "../record/record";
import { ownerOf, scopesOf, type Principal } from "../service/principal";
import { TaskError } from "../task/errors";
import type { As } from "./api";

/** Where a call looks, for whom, and whose a record is that it makes. */
export type RecordAccess = {
  readonly space: string | null;
  readonly asker: Asker;
  readonly owner: string | null;
};

/** As long as an owner's name may be, in UTF-16 units. */
const MAX_OWNER_LENGTH = 1_024;

/** To whom a namespace is closed it reads as one that does not exist. */
export function namespaceFor(namespaces: readonly Namespace[], name: string, principal: Principal): Namespace {
  const namespace = namespaces.find((one) => one.name === name);
  // What has one set of ids for all is kept by servers: a client would see the ids that others use.
  if (namespace && (namespace.owners === "separate" || actsForOthers(principal))) return namespace;
  throw new TaskError("not_found", "No such namespace.");
}

/** For whom the call is, as far as this caller may say so. */
export function accessTo({ owners }: Namespace, principal: Principal, { owner, any }: As): RecordAccess {
  mustBeForOne(any || undefined, owner);
  if (owner !== undefined && !isOwner(owner)) {
    throw new TaskError("invalid", `An owner is null or text of at most ${MAX_OWNER_LENGTH} characters.`);
  }
  const self = owners === "separate" ? ownerOf(principal) : null;
  if ((any || (owner !== undefined && owner !== self)) && !actsForOthers(principal)) {
    throw new TaskError("invalid", 'To act for another owner, or for any, takes the scope "worker" or "admin".');
  }
  if (any) return { space: null, asker: { kind: "any" }, owner: null };
  const named = owner === undefined ? self : owner;
  return { space: owners === "separate" ? named : null, asker: { kind: "owner", owner: named }, owner: named };
}

export function mustBeForOne(...named: readonly unknown[]): void {
  if (named.filter((value) => value !== undefined).length < 2) return;
  throw new TaskError("invalid", "A call is for one owner, for nobody or for any: name one of them, or none.");
}

/** What touches the records of all: a worker's right where it keeps them, an admin's everywhere. */
export function mustKeep({ owners }: Namespace, principal: Principal): void {
  const scope = owners === "separate" ? "admin" : "worker";
  if (!scopesOf(principal).includes(scope)) throw new TaskError("invalid", `That takes the scope "${scope}" here.`);
}

/** A namespace that is not listed has no list, for anybody but its admins. */
export function mustList({ list }: Namespace, principal: Principal): void {
  if (!list && !scopesOf(principal).includes("admin")) throw new TaskError("not_found", "This namespace has no list.");
}

/**
 * Where each owner's records are its own, nobody's lie together too: they are found by the ids that were minted for them
 * and in no other way, so that anonymous callers share nothing.
 */
export function mustNameOwner({ owners }: Namespace, asker: Asker, orNobody = false): void {
  if (owners !== "separate") return;
  if (asker.kind === "any") throw new TaskError("invalid", "Name the owner: here each owner's records are its own.");
  if (asker.owner === null && !orNobody) {
    throw new TaskError("invalid", "Records of anonymous callers have minted ids, and are found by these alone.");
  }
}

const actsForOthers = (principal: Principal): boolean => scopesOf(principal).includes("worker");

const isOwner = (owner: string | null): boolean =>
  owner === null || (typeof owner === "string" && owner.length <= MAX_OWNER_LENGTH && owner.isWellFormed());
