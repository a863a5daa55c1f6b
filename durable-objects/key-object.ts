import { DurableObject } from "cloudflare:workers";
import { toHex } from "../src/task-id";

/** Mints the deployment's sealing key once and keeps it for ever: what `SEALING_KEY` is when nobody set it. */
export class KeyObject extends DurableObject {
  /** 32 random bytes in hex. Synchronous storage, so no two callers can each mint one. */
  async sealingKey(): Promise<string> {
    const stored = this.ctx.storage.kv.get<string>("sealing-key");
    if (stored !== undefined) return stored;
    const minted = toHex(crypto.getRandomValues(new Uint8Array(32)));
    this.ctx.storage.kv.put("sealing-key", minted);
    return minted;
  }
}

/** There is one such object in a deployment. The stub is made per call: a reset would poison a kept one. */
export const mintedKey = (keys: DurableObjectNamespace<KeyObject>): Promise<string> =>
  keys.getByName("sealing").sealingKey();
