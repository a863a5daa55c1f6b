/** The numbers that rule a task's life, from the settings of the same names. All ms, bytes or counts. */
export type Limits = {
  /** null is unlimited. */
  readonly ttlMs: number | null;
  readonly minTtlMs: number;
  readonly maxTtlMs: number | null;
  readonly retentionMs: number;
  readonly pollIntervalMs: number;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly maxRestarts: number;
  readonly questionTtlMs: number;
  readonly reservationMs: number;
  readonly maxTasksPerOwner: number;
  readonly maxLiveTasksPerOwner: number;
  /** New tasks of one owner, or of one anonymous caller's address, in a clock minute. */
  readonly createsPerMinute: number;
  /** Polls of one task that are free; more must keep to ten times the advertised rate. */
  readonly pollBurst: number;
  /** Streams open at one owner's feed, and at one task. */
  readonly maxStreamsPerOwner: number;
  readonly resultLimitBytes: number;
  /** `TASK_SCOPING`: `lenient` opens tasks that belong to nobody to every caller (store contract: nil owner or nil caller). */
  readonly scoping: "strict" | "lenient";
};
