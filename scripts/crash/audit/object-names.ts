import { createHash, createHmac } from "node:crypto";

/**
 * The id that the local platform makes of an object's name. It notes the name beside what the object stores as it begins
 * a life; one that emptied its storage since has only its id. `folder` is that of its class.
 */
export function idOfName(folder: string, name: string): string {
  const key = createHash("sha256").update(folder).digest();
  const half = (text: string | Buffer): Buffer => createHmac("sha256", key).update(text).digest().subarray(0, 16);
  const base = half(name);
  return Buffer.concat([base, half(base)]).toString("hex");
}
