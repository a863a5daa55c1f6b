/** A context's name for a TEXT column, which keeps no lone surrogates: what has one, or looks as if it had, is written as JSON. */
export const toColumn = (text: string | null): string | null =>
  text === null || (text.isWellFormed() && !text.startsWith('"')) ? text : JSON.stringify(text);

export const fromColumn = (text: string | null): string | null =>
  text?.startsWith('"') ? (JSON.parse(text) as string) : text;
