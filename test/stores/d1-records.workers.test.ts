import { reset } from "cloudflare:test";
import { d1Records } from "../../src/d1/d1-records";
import { serviceSubject } from "../kit/memory-subject";
import { describeRecords } from "../kit/run";
import { limits, movableClock } from "../support/memory";
import { objects } from "./d1";

async function emptySubject() {
  await reset();
  const clock = movableClock();
  return serviceSubject(d1Records({ db: objects.DB, limits, clock: clock.now }), limits, clock);
}

// Each write is a round trip, so there are fewer interleavings than in memory.
describeRecords("the D1 record store, in process", emptySubject, { runs: 20 });
