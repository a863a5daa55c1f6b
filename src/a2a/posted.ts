import type { Config } from "../env";
import { parseJson } from "../json";
import type { Json } from "../task/json";
import { A2aError } from "./errors";

/** `unsafeNumbers`: what was parsed is not what was sent. */
export type Posted = { readonly value: Json; readonly unsafeNumbers: boolean };

export function parsed(bytes: Uint8Array, { maxJsonDepth }: Config): Posted {
  const read = parseJson(bytes, { maxDepth: maxJsonDepth });
  if (!read.ok) throw new A2aError("parse", read.reason);
  return read;
}
