import type { Exchange } from "../../json-rpc";
import type { JsonObject } from "../../task/json";
import type { Progress } from "../../task/task";
import type { LogLevel } from "../../tool/context";
import { isAtLeast, reportProgress, speakTo, toLogParams } from "../report";
import { LOG_LEVEL, type RequestMeta } from "./schemas";

export type Report = {
  readonly onProgress: (progress: Progress) => void;
  readonly onLog: (level: LogLevel, message: string, data?: JsonObject) => void;
};

/** What a plain call says on its stream, as far as its request asked to hear it. */
export function reportTo(exchange: Exchange, meta: RequestMeta, toolName: string): Report {
  const { progressToken, [LOG_LEVEL]: wanted } = meta;
  const say = speakTo(exchange);
  return {
    onProgress: reportProgress(say, progressToken),
    onLog(level, message, data) {
      // No level asked for means none is sent (logging §Per-request log level).
      if (wanted === undefined || !isAtLeast(level, wanted)) return;
      say("notifications/message", toLogParams(toolName, level, message, data));
    },
  };
}
