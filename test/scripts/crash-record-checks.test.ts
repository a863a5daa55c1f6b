import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { Journal } from "../../scripts/crash/journal";
import { checkRecord } from "../../scripts/crash/load/record-checks";
import type { KnownRecord, RecordSeen } from "../../scripts/crash/record-book";
import type { Server } from "../../scripts/crash/server";

const PLACE = { namespace: "default", as: "owner-a", query: "" } as const;
const ANSWER = { action: "accept" };
const record: RecordSeen = {
  id: "r",
  owner: "o",
  version: 3,
  createdAt: 0,
  ttlMs: null,
  seq: 3,
  task: { status: "working", inputRequests: {} },
  document: { counter: 1 },
};
const answered = { kind: "answered", key: "q", response: ANSWER };
const LOG = [{ kind: "created", status: "working" }, { kind: "asked", keys: ["q"] }, answered];

/** What is found of a record that was added to once, and took one answer, when this is what the API tells of it. */
async function found(
  change: (record: KnownRecord) => unknown,
  { body = record, log = LOG }: { body?: RecordSeen; log?: readonly object[] } = {},
): Promise<string> {
  const entries = log.map((event, at) => ({ seq: at + 1, at: 0, version: at + 1, event }));
  const http = createServer(({ url = "" }, answer) => {
    const after = Number(/after=(\d+)/.exec(url)?.[1]);
    answer.end(
      JSON.stringify(url.includes("events") ? { entries: entries.slice(after), cursor: entries.length } : body),
    );
  });
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const server = { url, life: 1, up: async () => 1, answered: () => {}, now: () => 1 } as unknown as Server;
  try {
    const journal = new Journal();
    const known = journal.records.acknowledged(PLACE, record);
    known.counted = 1;
    known.answers.set("q", { sent: [JSON.stringify(ANSWER)], taken: JSON.stringify(ANSWER) });
    change(known);
    await checkRecord(server, known, journal);
    return journal.findings.map(({ says }) => says).join("\n");
  } finally {
    http.close();
    http.closeAllConnections();
  }
}

describe("a record that is asked for again", () => {
  it("is in order where it reads as it was told", async () => {
    expect(await found(() => {})).toBe("");
  });

  it("counts each addition that was acknowledged, and no more than were sent", async () => {
    expect(await found((it) => (it.counted = 2))).toContain("was added to 2 times, 0 more are not known");
    expect(await found((it) => (it.counted = 0))).toContain("its counter is at 1");
    expect(await found((it) => ((it.counted = 0), (it.doubtful = 1)))).toBe("");
  });

  it("has a log without gaps, with each acknowledged answer once", async () => {
    expect(await found(() => {}, { log: LOG.slice(0, 2) })).toContain("took the answer");
    expect(await found(() => {}, { log: LOG.slice(0, 2) })).toContain("has a log of 1 to 3, and it reads 1 2.");
    expect(await found(() => {}, { log: [LOG[0]!, answered, answered] })).toContain("has 2 answers to q");
    expect(await found((it) => it.answers.clear())).toContain("which nobody sent");
  });

  it("ends once, and not otherwise", async () => {
    expect(await found((it) => (it.final = "failed"))).toContain("ended as failed, and is working at last");
    const ends = [LOG[0]!, { kind: "written", status: "failed" }, { kind: "cancelled", status: "cancelled" }];
    expect(await found((it) => it.answers.clear(), { log: ends })).toContain("tells of the ends failed, cancelled");
  });

  it("stays removed", async () => {
    expect(await found((it) => (it.removed = "yes"))).toContain("was removed, and is read again");
  });
});
