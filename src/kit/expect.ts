/** A promise of the contract that was not kept. */
export class Unmet extends Error {
  override readonly name = "Unmet";
}

export function isTrue(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Unmet(`Not so: ${promise}.`);
}

/** Deeply equal plain data: what is `undefined` counts as left out. */
export function isEqual(actual: unknown, expected: unknown, promise: string): void {
  const place = difference(actual, expected, "it");
  if (place === null) return;
  throw new Unmet(`Not so: ${promise}. At ${place}; expected ${show(expected)}, came ${show(actual)}.`);
}

/** What came, when it did. */
export function isThere<T>(value: T | null | undefined, promise: string): T {
  if (value === null || value === undefined) throw new Unmet(`Not so: ${promise}. Nothing came.`);
  return value;
}

/** Refused, as one of these codes says: an error that carries a `code`, whichever door it came through. */
export async function isRefused(call: Promise<unknown>, codes: readonly string[], promise: string): Promise<void> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("value" in outcome) throw new Unmet(`Not so: ${promise}. It was allowed, with ${show(outcome.value)}.`);
  const { code } = outcome.error as { readonly code?: unknown };
  if (codes.includes(String(code))) return;
  throw new Unmet(`Not so: ${promise}. It was refused with ${show(code)}: ${String(outcome.error)}`);
}

const LONGEST_SHOWN = 600;

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** Where the two differ, or null. */
function difference(actual: unknown, expected: unknown, place: string): string | null {
  if (Object.is(actual, expected)) return null;
  if (!isContainer(actual) || !isContainer(expected) || Array.isArray(actual) !== Array.isArray(expected)) {
    return `${place}: ${show(actual)} instead of ${show(expected)}`;
  }
  for (const key of new Set([...Object.keys(actual), ...Object.keys(expected)])) {
    const found = difference(actual[key], expected[key], `${place}[${JSON.stringify(key)}]`);
    if (found !== null) return found;
  }
  return null;
}

const isContainer = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
