import { DurableObject } from "cloudflare:workers";
import { cutOff, LeasedRun } from "../src/service/leased-run";
import type { WorkAct, Worked } from "../src/service/work";
import { nextWork } from "../src/task/due";
import { isExpired } from "../src/task/task";
import { runParts } from "./run-parts";
import type { RunnerCalls } from "./runner-drive";
import type { Bindings, Wiring } from "./wiring";

/** A runner that says nothing for so long is taken for dead. */
const LEASE_MS = 30_000;
const HEARTBEAT_MS = 10_000;

/** How long a store that cannot be reached, or that refuses what it calls due, is left alone. */
const PAUSE_MS = 10_000;

/** In storage: which task, and the lease under which it is run. */
const TASK = "task";
const LEASE = "lease";

/**
 * Runs the tool of one task that a passive store keeps. It stores no more than the task's id and its lease; the alarm
 * starts the run, keeps its lease alive while it goes on, and wakes the task again after a sleep or a failed attempt.
 */
export const runnerObject = (wiring: Wiring) =>
  class extends DurableObject<Bindings> implements RunnerCalls {
    #run: LeasedRun | null = null;
    /** Somebody called since the task was last taken: where it stands may have been heard before that. */
    #woken = false;

    async wake(id: string): Promise<void> {
      this.#woken = true;
      this.ctx.storage.kv.put(TASK, id);
      this.#setAlarm(Date.now());
    }

    override async alarm(): Promise<void> {
      const id = this.ctx.storage.kv.get<string>(TASK);
      if (id === undefined) return;
      // First of all: whoever wakes us meanwhile sets an earlier one, and should this process die, the next goes on.
      this.#setAlarm(Date.now() + HEARTBEAT_MS);
      if (this.#run) await this.#run.heartbeat();
      else await this.#take(id);
    }

    async #take(id: string): Promise<void> {
      const { kv } = this.ctx.storage;
      this.#woken = false;
      const { run, lease } = this.#newRun(id);
      this.#run = run;
      try {
        const before = kv.get<string>(LEASE);
        // Whoever held it was here, and is no more: nobody has to wait until its lease lapses.
        if (before !== undefined) await cutOff(before, this.#workOf(id), this.#limits(), wiring.clock);
        kv.put(LEASE, lease);
        if (await run.claim()) this.ctx.waitUntil(run.perform().finally(() => this.#rest(run)));
        else this.#rest(run, PAUSE_MS);
      } catch (error) {
        this.#run = null;
        const reason = error instanceof Error ? error.message : String(error);
        wiring.log("error", "A runner could not reach its task.", { task: id, error: reason });
        this.#setAlarm(Date.now() + PAUSE_MS);
      }
    }

    /** The run is over, or there is none to begin: what is next? */
    #rest(run: LeasedRun, atLeast = 0): void {
      if (this.#run !== run) return;
      this.#run = null;
      const { storage } = this.ctx;
      const { clock } = wiring;
      const task = run.task();
      const due = task && !isExpired(task, clock(), this.#limits().retentionMs) ? nextWork(task, clock()) : null;
      const lease = storage.kv.get<string>(LEASE);
      const unfinished = due !== null && lease !== undefined && task?.lease?.id === lease;
      // Kept for the next turn, which says that this run was cut off.
      if (!unfinished) storage.kv.delete(LEASE);
      if (this.#woken) this.#setAlarm(Date.now());
      else if (unfinished) this.#setAlarm(Date.now() + PAUSE_MS);
      else if (due !== null) this.#setAlarm(Math.max(due - clock() + Date.now(), Date.now() + atLeast));
      else void storage.deleteAll();
    }

    #newRun(id: string): { readonly run: LeasedRun; readonly lease: string } {
      const lease = crypto.randomUUID();
      const run = new LeasedRun({
        ...runParts(wiring, this.env),
        work: this.#workOf(id),
        lease: { id: lease, worker: "runner", ms: LEASE_MS },
      });
      return { run, lease };
    }

    #workOf(id: string): (act: WorkAct) => Promise<Worked | null> {
      return (act) => wiring.storeOf(this.env).work(id, act);
    }

    #limits() {
      return wiring.configOf(this.env).limits;
    }

    #setAlarm(at: number): void {
      void this.ctx.storage.setAlarm(at);
    }
  };
