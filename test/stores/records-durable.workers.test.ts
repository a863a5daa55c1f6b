import { evictAllDurableObjects } from "cloudflare:test";
import { serviceSubject } from "../kit/memory-subject";
import { describeRecords } from "../kit/run";
import { emptyRecords } from "./records";

describeRecords(
  "the durable store, in process",
  async () => {
    const { records, limits, clock } = await emptyRecords();
    return { ...serviceSubject(records, limits, clock), restart: () => evictAllDurableObjects() };
  },
  // Each call is one or two hops to an object: fewer interleavings than where they cost nothing.
  { runs: 200, timeoutMs: 300_000 },
);
