import type { Entries, StoreApi } from "../store-api/api";
import type { RpcOutcome } from "../store-api/rpc";
import { STORE_METHODS } from "../store-api/store-methods";
import { TaskError } from "../task/errors";

/** The store API over a service binding: values and errors as they are elsewhere. */
export function rpcStore(binding: object): StoreApi {
  // A binding is a proxy: it has each method that is called on it.
  const stub = binding as Readonly<Record<string, (...args: readonly unknown[]) => Promise<RpcOutcome<unknown>>>>;
  const call = async (name: keyof StoreApi, args: readonly unknown[]): Promise<unknown> => {
    const outcome = await stub[name]?.(...args);
    if (outcome?.ok) return outcome.value;
    const { code, message, data } = outcome ?? { code: "internal" as const, message: "Not answered.", data: {} };
    throw new TaskError(code, message, data);
  };
  const methods = Object.fromEntries(
    STORE_METHODS.map((name) => [name, (...args: readonly unknown[]) => call(name, args)]),
  ) as unknown as StoreApi;
  return {
    ...methods,
    // A signal does not cross: here the wait ends, there a moment later by itself.
    events: (namespace, id, { signal, ...options } = {}) => {
      const asked = methods.events(namespace, id, options);
      return signal ? untilAborted(asked, signal, { entries: [], cursor: options.after ?? 0 }) : asked;
    },
  };
}

async function untilAborted(
  asked: Promise<Entries | null>,
  signal: AbortSignal,
  otherwise: Entries,
): Promise<Entries | null> {
  let leave = (): void => {};
  const aborted = new Promise<Entries>((resolve) => {
    leave = () => resolve(otherwise);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
  });
  return Promise.race([asked, aborted]).finally(() => signal.removeEventListener("abort", leave));
}
