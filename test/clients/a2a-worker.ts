// A worker elsewhere, which takes each step of a task of the tool `remote` when the test says so.
import type { DevServer } from "../../scripts/support/dev-server";
import type { Wire } from "../support/mcp";

export type Work = {
  readonly taskId: string;
  tell(act: "progress" | "ask" | "complete" | "fail", more?: object): Promise<void>;
};

async function post({ url }: Pick<DevServer, "url">, path: string, body: object): Promise<Wire> {
  const headers = { "Content-Type": "application/json", Authorization: "Bearer worker" };
  const response = await fetch(`${url}/store/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as Wire;
  if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  return answer;
}

/** What waits in the queue `remote`, next. */
export async function takeWork(server: Pick<DevServer, "url">): Promise<Work> {
  const wish = { worker: "w", waitMs: 20_000, leaseMs: 600_000 };
  for (;;) {
    const claimId = crypto.randomUUID();
    const { claims } = await post(server, "/queues/remote/claims", { ...wish, claimId });
    const [claim] = claims;
    if (!claim) continue;
    const { taskId, lease } = claim as { taskId: string; lease: string };
    const tell = async (act: string, more: object = {}) =>
      void (await post(server, `/work/${taskId}/${act}`, { lease, ...more }));
    return { taskId, tell };
  }
}

export const form = (message: string) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { v: { type: "string" } }, required: ["v"] },
  },
});
