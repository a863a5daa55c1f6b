import type { Progress } from "../task/task";

/** How far it is, in a few words; undefined where nothing can be said. */
export function progressText({ message, progress, total }: Progress): string | undefined {
  const known = progress !== undefined && total !== undefined && total > 0;
  const share = known ? `${Math.floor(Math.min(1, Math.max(0, progress / total)) * 100)}%` : undefined;
  if (message !== undefined) return share === undefined ? message : `${message} (${share})`;
  return share ?? (progress === undefined ? undefined : `Progress: ${progress}`);
}
