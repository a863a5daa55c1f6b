import * as z from "zod/mini";

// What the schemas of every door check, told in zod's own issues. Smaller than zod's checks, and one for numbers and lengths.

type Fault = Readonly<Record<string, unknown>> & { readonly code: string };

/** `fault` says what is wrong with the value; null for nothing. With `continue: false` it is not looked at further. */
const check =
  <T>(fault: (value: T) => Fault | null, message?: string) =>
  ({ value, issues }: z.core.ParsePayload<T>): void => {
    const found = fault(value);
    if (found) issues.push({ inclusive: true, continue: true, input: value, message, ...found } as z.core.$ZodRawIssue);
  };

type Sized = number | string | readonly unknown[];

/** Of a text its characters, as JSON Schema counts them: at least half its length, which is enough where there is room. */
function sizeOf(value: Sized, minimum: number, maximum: number): number {
  if (typeof value === "number") return value;
  const { length } = value;
  const isSure = typeof value === "object" || length < minimum || (length >= minimum * 2 && length <= maximum);
  // Of one that is far too long no more is counted than shows it.
  return isSure ? length : Array.from(value.slice(0, maximum * 2 + 2)).length;
}

/** A number, or the length of a text or list. */
export const within = (minimum: number, maximum = Infinity, message?: string) =>
  check<Sized>((value) => {
    const size = sizeOf(value, minimum, maximum);
    const origin = typeof value === "object" ? "array" : typeof value;
    if (size < minimum) return { code: "too_small", origin, minimum };
    return size > maximum ? { code: "too_big", origin, maximum } : null;
  }, message);

export const matching = (pattern: RegExp, message?: string) =>
  check<string>(
    (text) => (pattern.test(text) ? null : { code: "invalid_format", format: "regex", pattern: String(pattern) }),
    message,
  );

/** An integer that a double holds exactly. */
export const integer = (message?: string) =>
  z
    .number(message)
    .check(
      check<number>(
        (value) => (Number.isSafeInteger(value) ? null : { code: "invalid_type", expected: "int", continue: false }),
        message,
      ),
    );

/** One of these texts. */
export const among = <const T extends string>(values: readonly T[], message?: string) =>
  z
    .custom<T>()
    .check(
      check<T>(
        (value) => (values.includes(value) ? null : { code: "invalid_value", values, continue: false }),
        message,
      ),
    );
