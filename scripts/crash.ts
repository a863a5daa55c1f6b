// A process may die at any instant. This kills the server again and again under load, and then holds it to its word.
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atAnyInstant, atRest } from "./crash/audit/audits.ts";
import { Disk } from "./crash/audit/disk.ts";
import type { Audit } from "./crash/audit/evidence.ts";
import { nothing } from "./crash/audit/nothing.ts";
import type { Storage } from "./crash/audit/storage.ts";
import { Journal } from "./crash/journal.ts";
import { kill } from "./crash/killer.ts";
import { startClients } from "./crash/load/clients.ts";
import { doorsOf } from "./crash/load/doors.ts";
import { readOptions, USAGE, type Options } from "./crash/options.ts";
import { randomFrom } from "./crash/random.ts";
import { findingsText, Progress, summary } from "./crash/report.ts";
import { comeToRest, expireAll } from "./crash/rest.ts";
import { MAX_LIVE_TASKS, Server } from "./crash/server.ts";

let options: Options;
try {
  options = readOptions(process.argv.slice(2), () => randomInt(2 ** 31));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exit(2);
}
const { kills, seed, clients, keep } = options;
console.log(`Seed ${seed}: ${kills} kills, ${clients} clients.`);
const home = await mkdtemp(join(tmpdir(), "holdfast-crash-"));
const journal = new Journal();
const progress = new Progress(journal);
const server = await Server.start(home);
const disk = new Disk(server.storage, join(home, "look"));
let seen: Storage | null = null;
let looks = 0;
let lookedMs = 0;
try {
  const random = randomFrom(seed);
  const doors = doorsOf(server);
  progress.says("up");
  const load = startClients(clients, doors, server, journal, random.fork("clients"));
  await kill(server, kills, random.fork("killer"), (killed) => {
    progress.says(`kill ${killed.kills}/${kills}, ${killed.afterMs} ms after its ${killed.since}`);
    look(atAnyInstant, server.now());
  });
  await load.stop();
  progress.says("coming to rest");
  await comeToRest(server, journal, random.fork("rest"));
  progress.says("asking for everything again");
  for (const door of doors) await door.verify(journal);
  const rested = server.now();
  await server.kill();
  progress.says("looking at the disk");
  look(atRest, rested);
  await server.restart();
  progress.says("having everything expire");
  await expireAll(server, doors, journal);
  await server.kill();
  look([nothing], server.now());
} finally {
  progress.end();
  await server.stop();
  if (!keep) await rm(home, { recursive: true, force: true, maxRetries: 5 });
}
const { findings } = journal;
console.log(
  summary(journal, {
    seed,
    kills,
    clients,
    "looks at the disk": looks,
    "ms of each": Math.round(lookedMs / looks),
    took: progress.seconds(),
  }),
);
if (keep) console.log(`\nThe state is in ${home}.`);
if (findings.length > 0) console.log(`\n${findingsText(findings)}`);
console.log(
  `\nSeed ${seed}: ${findings.length === 0 ? "nothing lost, nothing doubled, nothing stuck" : `${findings.length} findings`}.`,
);
process.exitCode = findings.length === 0 ? 0 : 1;

/** While the server is dead. */
function look(audits: readonly Audit[], at: number): void {
  looks += 1;
  const began = performance.now();
  const storage = disk.read();
  const evidence = { storage, before: seen, journal, now: at, maxLive: MAX_LIVE_TASKS };
  for (const { about, says } of audits.flatMap((audit) => audit(evidence))) journal.found(about, says);
  seen = storage;
  lookedMs += performance.now() - began;
}
