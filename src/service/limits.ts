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
  readonly resultLimitBytes: number;
};
