import type { Sealer } from "./seal";
import { holderOf, type Principal } from "./service/principal";
import { TaskError } from "./task/errors";

/** What a list may be in the order of, and what its cursors are sealed as. */
const PURPOSES = { createdAt: "cursor", statusAt: "a2a-page" } as const;

type By = keyof typeof PURPOSES;
type Place<B extends By> = { readonly [member in B | "id"]: member extends "id" ? string : number };

/** Long enough for whoever reads on after lunch. */
const TTL_MS = 86_400_000;

/** Where the next page of the caller's own list begins: after this row, whatever came or went before it. */
export const sealCursor = <B extends By>(
  { sealer }: { readonly sealer: Sealer },
  principal: Principal,
  by: B,
  { [by]: at, id }: Place<B>,
): Promise<string> => sealer.seal(PURPOSES[by], { [by]: at, id }, holderOf(principal), TTL_MS);

/** What was sealed, as it was. Throws `invalid`. */
export async function openCursor<B extends By>(
  { sealer }: { readonly sealer: Sealer },
  principal: Principal,
  by: B,
  cursor: string,
): Promise<Place<B>> {
  const opened = await sealer.open(PURPOSES[by], cursor, holderOf(principal));
  if (opened) return opened as Place<B>;
  throw new TaskError("invalid", "The cursor or page token is none of yours, or has expired; list again without it.");
}
