import type { Exchange } from "../json-rpc";
import type { JsonObject } from "../task/json";
import type { Progress } from "../task/task";
import type { LogLevel } from "../tool/context";
import { LOG_LEVELS } from "./schemas";

/** Reports that wait for a slow reader; more than these are left out rather than kept in memory. */
const MAX_UNSENT = 64;

export type Say = (method: string, params: object) => void;

/** Sends without waiting, as long as the reader keeps up. */
export function speakTo(exchange: Pick<Exchange, "notify">): Say {
  let unsent = 0;
  return (method, params) => {
    if (unsent >= MAX_UNSENT) return;
    unsent += 1;
    void exchange.notify(method, JSON.stringify(params)).finally(() => (unsent -= 1));
  };
}

/**
 * `after` is what the same token has been told before; `meta` goes with each notification. `seq` stands for a number that
 * was not reported, and only grows: also from one stream to the next.
 */
export function reportProgress(
  say: Say,
  progressToken: string | number | undefined,
  { after = -Infinity, meta }: { readonly after?: number | undefined; readonly meta?: JsonObject } = {},
): (progress: Progress, seq?: number) => void {
  let last = after;
  return ({ message, progress, total }, seq) => {
    if (progressToken === undefined) return;
    // The wire wants a number with each, and always a larger one (progress §Behavior Requirements).
    const value = progress ?? Math.max(seq ?? 1, last + 1);
    if (!(value > last) || !Number.isFinite(value)) return;
    last = value;
    say("notifications/progress", {
      progressToken,
      progress: value,
      total: progress === undefined ? undefined : total,
      message,
      _meta: meta,
    });
  };
}

export const isAtLeast = (level: LogLevel, least: LogLevel): boolean =>
  LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);

export const toLogParams = (logger: string, level: LogLevel, message: string, data: JsonObject | undefined) => ({
  level,
  logger,
  data: data === undefined ? message : { ...data, message },
});
