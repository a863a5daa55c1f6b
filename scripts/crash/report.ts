import type { Finding } from "./finding.ts";
import type { Journal } from "./journal.ts";

/** A line while it goes on: rewritten in place where somebody looks on, else one for each kill. */
export class Progress {
  readonly #journal: Journal;
  readonly #began = Date.now();
  readonly #isSeen = process.stderr.isTTY;
  readonly #timer: ReturnType<typeof setInterval> | null;
  #doing = "starting";
  #found = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
    this.#timer = this.#isSeen ? setInterval(() => this.#write("\r\x1b[K"), 250) : null;
  }

  /** What is being done now. */
  says(doing: string): void {
    this.#doing = doing;
    const { findings } = this.#journal;
    for (const { about, says } of findings.slice(this.#found)) process.stderr.write(`\n${about}: ${says}\n`);
    this.#found = findings.length;
    if (!this.#isSeen) this.#write("");
  }

  end(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    process.stderr.write("\r\x1b[K");
  }

  seconds(): string {
    return `${((Date.now() - this.#began) / 1000).toFixed(0)} s`;
  }

  #write(before: string): void {
    const { counts, findings } = this.#journal;
    const count = (what: string): number => counts.get(what) ?? 0;
    const parts = [
      this.#doing,
      `${count("acknowledged")} tasks, ${this.#journal.live().length} live`,
      `${count("answers acknowledged")} answers`,
      `${count("calls lost")} calls lost`,
      `${count("waits begun again")} waits begun again`,
      `${findings.length} findings`,
      this.seconds(),
    ];
    process.stderr.write(`${before}${parts.join(" · ")}${this.#isSeen ? "" : "\n"}`);
  }
}

/** What there is to tell at the end. */
export function summary(journal: Journal, facts: Readonly<Record<string, string | number>>): string {
  const counts = [...journal.counts].toSorted(([a], [b]) => a.localeCompare(b));
  const rows = [...Object.entries(facts), ...counts].map(([name, value]) => [name, String(value)] as const);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value.padStart(8)}`).join("\n");
}

/** The same kind together. */
export function findingsText(findings: readonly Finding[]): string {
  const kinds = Map.groupBy(findings, ({ about }) => about);
  return [...kinds]
    .map(([about, some]) => {
      const lines = some.map(({ says }) => `  - ${says}`);
      const shown = lines.slice(0, 20);
      const more = lines.length - shown.length;
      return [`${about}: ${lines.length}`, ...shown, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n");
    })
    .join("\n\n");
}
