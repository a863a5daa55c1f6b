import type { Exchange } from "../../json-rpc";
import type { JsonObject } from "../../task/json";
import type { Progress } from "../../task/task";
import type { LogLevel } from "../../tool/context";
import { LOG_LEVEL, LOG_LEVELS, type RequestMeta } from "./schemas";

/** Reports that wait for a slow reader; more than these are left out rather than kept in memory. */
const MAX_UNSENT = 64;

export type Report = {
  readonly onProgress: (progress: Progress) => void;
  readonly onLog: (level: LogLevel, message: string, data?: JsonObject) => void;
};

/** What a plain call says on its stream, as far as its request asked to hear it. */
export function reportTo(exchange: Exchange, meta: RequestMeta, toolName: string): Report {
  const { progressToken, [LOG_LEVEL]: wanted } = meta;
  let unsent = 0;
  let last = -Infinity;

  function say(method: string, params: object): void {
    unsent += 1;
    void exchange.notify(method, JSON.stringify(params)).finally(() => (unsent -= 1));
  }

  return {
    onProgress({ message, progress, total }) {
      if (progressToken === undefined || unsent >= MAX_UNSENT) return;
      // The wire wants a number with each, and always a larger one (progress §Behavior Requirements).
      const value = progress ?? Math.max(0, last) + 1;
      if (!(value > last) || !Number.isFinite(value)) return;
      last = value;
      say("notifications/progress", {
        progressToken,
        progress: value,
        total: progress === undefined ? undefined : total,
        message,
      });
    },
    onLog(level, message, data) {
      // No level asked for means none is sent (logging §Per-request log level).
      if (wanted === undefined || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(wanted) || unsent >= MAX_UNSENT)
        return;
      say("notifications/message", {
        level,
        logger: toolName,
        data: data === undefined ? message : { ...data, message },
      });
    },
  };
}
