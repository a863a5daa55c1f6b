import { expect, vi } from "vitest";
import type { DevServer } from "../../scripts/support/dev-server";

/** Sets the clock of the fixtures ahead of the real one. */
export async function moveClock({ url }: DevServer, offsetMs: number): Promise<void> {
  const response = await fetch(`${url}/__fixture/clock`, { method: "POST", body: JSON.stringify({ offsetMs }) });
  expect(response.status).toBe(200);
}

/** Runs the cron once, as wrangler offers it locally: alarms are set by a clock that nobody moved. */
export async function runCron({ url, output }: DevServer): Promise<void> {
  const swept = (): number => output().split('"message":"Swept."').length;
  const before = swept();
  const response = await fetch(`${url}/cdn-cgi/local/scheduled`);
  expect(response.status).toBe(200);
  await vi.waitUntil(() => swept() > before, { timeout: 30_000, interval: 50 });
}
