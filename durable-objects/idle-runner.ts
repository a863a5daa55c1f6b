import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "./wiring";

export type RunnerClass = new (ctx: DurableObjectState, env: Bindings) => DurableObject<Bindings>;

/** What is bound where no store needs a runner. One that is left from another time has nothing to run. */
export class IdleRunner extends DurableObject<Bindings> {
  override alarm(): Promise<void> {
    return this.ctx.storage.deleteAll();
  }
}
