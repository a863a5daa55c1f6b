/** Something that must never be. */
export type Finding = {
  /** Which promise was broken, in a word or two. */
  readonly about: string;
  /** A sentence that says what was seen, and of which task. */
  readonly says: string;
};
