import { readBody } from "../body";
import type { Config } from "../env";
import { parseJson } from "../json";
import type { Json } from "../task/json";
import { TaskError } from "../task/errors";
import { A2aError } from "./errors";

/** Throws `too_large`. */
export async function bytesOf(request: Request, { maxBodyBytes }: Config): Promise<Uint8Array> {
  const bytes = await readBody(request, maxBodyBytes);
  if (bytes !== null) return bytes;
  throw new TaskError("too_large", `The body is longer than MAX_BODY_BYTES (${maxBodyBytes} bytes).`, {
    limit: "MAX_BODY_BYTES",
    value: maxBodyBytes,
  });
}

/** `unsafeNumbers`: what was parsed is not what was sent. */
export type Posted = { readonly value: Json; readonly unsafeNumbers: boolean };

export function parsed(bytes: Uint8Array, { maxJsonDepth }: Config): Posted {
  const read = parseJson(bytes, { maxDepth: maxJsonDepth });
  if (!read.ok) throw new A2aError("parse", read.reason);
  return read;
}
