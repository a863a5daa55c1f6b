/** D1 holds at most 2 MB in one value; so many UTF-16 units are fewer bytes, whatever they stand for. */
const PIECE_UNITS = 600_000;

/** Any JavaScript string as texts that D1 gives back exactly. */
export type Pieces = {
  /** 1: as a JSON string, since D1 keeps no lone surrogate and not every tool a NUL. */
  readonly escaped: 0 | 1;
  /** At least one. */
  readonly parts: readonly string[];
};

export function toPieces(text: string): Pieces {
  const plain = text.isWellFormed() && !text.includes("\0");
  return { escaped: plain ? 0 : 1, parts: cut(plain ? text : JSON.stringify(text)) };
}

export function fromPieces({ escaped, parts }: Pieces): string {
  const text = parts.join("");
  return escaped === 1 ? (JSON.parse(text) as string) : text;
}

/** Whether it fits in one row, whatever its characters are. */
export const isShort = (text: string): boolean => text.length <= PIECE_UNITS;

function cut(text: string): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  do {
    let to = Math.min(text.length, from + PIECE_UNITS);
    // Half of a pair would be lost.
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to -= 1;
    parts.push(text.slice(from, to));
    from = to;
  } while (from < text.length);
  return parts;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
