import { WorkerEntrypoint } from "cloudflare:workers";
import type { Principal } from "../service/principal";
import type { StoreApi } from "./api";
import { outcomeOf, principalOf, type StoreProps, type StoreRpc } from "./rpc";
import { SERVED } from "./store-service";

export type EntrypointParts = {
  readonly storeOf: (env: object) => { as(principal: Principal): StoreApi };
  readonly log: (line: object) => void;
};

/**
 * The store API for Workers that bind this one (`[[services]] binding = "STORE"`, `entrypoint = "StoreEntrypoint"`);
 * `rpcStore` makes of the binding what the API is elsewhere.
 */
export function storeEntrypoint({ storeOf, log }: EntrypointParts) {
  class StoreEntrypoint extends WorkerEntrypoint<object, StoreProps> {}
  for (const name of SERVED) {
    // RPC reaches what stands on the prototype, and nothing else.
    Object.defineProperty(StoreEntrypoint.prototype, name, {
      value(this: { readonly env: object; readonly ctx: { readonly props?: StoreProps } }, ...args: unknown[]) {
        const call = async (): Promise<unknown> => {
          const store = storeOf(this.env).as(principalOf(this.ctx.props));
          // One method of many: the compiler cannot tie its name to its arguments.
          return (store[name] as (...given: unknown[]) => Promise<unknown>)(...args);
        };
        return outcomeOf(call, log);
      },
    });
  }
  return StoreEntrypoint as unknown as new (
    ...args: ConstructorParameters<typeof WorkerEntrypoint>
  ) => WorkerEntrypoint<object, StoreProps> & StoreRpc;
}
