import { decodeTaskId } from "../src/task-id";

/**
 * The object of an id that this namespace minted, or null. The platform checks its tag here in the caller: a forged id
 * costs nothing and wakes nothing.
 */
export function mintedId(namespace: DurableObjectNamespace, id: string): DurableObjectId | null {
  const hex = decodeTaskId(id);
  if (hex === null) return null;
  try {
    return namespace.idFromString(hex);
  } catch {
    return null;
  }
}
