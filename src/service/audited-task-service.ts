import { TaskError } from "../task/errors";
import { factsOf, markAudited, type Audit, type AuditLine } from "./audit";
import type { FollowMessage } from "./follow";
import { ownerOf, type Principal } from "./principal";
import type { SettleOptions, StartRequest, TaskServiceParts } from "./task-requests";
import { TaskService } from "./task-service";
import type { ReadOptions, TaskSnapshot, Told } from "./task-store";

/** The use cases, each leaving one line that says who did what to which task, or what was refused and why. */
export class AuditedTaskService extends TaskService {
  readonly #audit: Audit;

  constructor(parts: TaskServiceParts, audit: Audit) {
    super(parts);
    this.#audit = audit;
  }

  override async start(request: StartRequest): Promise<{ readonly task: TaskSnapshot; readonly existing: boolean }> {
    const { principal, tool } = request;
    const started = await this.#refusals(principal, { tool: tool.tool.name }, super.start(request));
    if (!started.existing) this.#audit({ audit: "create", ...factsOf(started.task) });
    return started;
  }

  override get(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot> {
    return this.#reading(principal, id, options?.body, super.get(principal, id, options));
  }

  override look(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot> {
    return this.#reading(principal, id, options?.body, super.look(principal, id, options));
  }

  override settle(principal: Principal, id: string, options: SettleOptions): Promise<TaskSnapshot> {
    return this.#reading(principal, id, options.deliver !== 1, super.settle(principal, id, options));
  }

  override async *follow(...told: Parameters<TaskService["follow"]>): AsyncGenerator<FollowMessage> {
    for await (const message of super.follow(...told)) {
      if (message.kind === "task") this.#read(message.task);
      yield message;
    }
  }

  override async answer(...told: Parameters<TaskService["answer"]>): Promise<TaskSnapshot> {
    const [principal, id] = told;
    const task = await this.#refusals(principal, { task: id }, super.answer(...told));
    this.#audit({ audit: "answer", ...factsOf(task) });
    return task;
  }

  override async cancel(principal: Principal, id: string): Promise<Told> {
    const told = await this.#refusals(principal, { task: id }, super.cancel(principal, id));
    if (told.changed) this.#audit({ audit: "cancel", ...factsOf(told.task) });
    return told;
  }

  async #reading(principal: Principal, id: string, body = true, read: Promise<TaskSnapshot>): Promise<TaskSnapshot> {
    const task = await this.#refusals(principal, { task: id }, read);
    if (body) this.#read(task);
    return task;
  }

  #read(task: TaskSnapshot): void {
    if (task.stage.phase === "settled") this.#audit({ audit: "read_result", ...factsOf(task) });
  }

  async #refusals<T>(principal: Principal, named: Pick<AuditLine, "task" | "tool">, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof TaskError) {
        // What a stranger sent in place of an id may be anything, of any length.
        const subject = !named.task || /^[\w-]{1,64}$/.test(named.task) ? named : { task: "malformed" };
        this.#audit({ audit: "refuse", principal: ownerOf(principal), code: error.code, ...subject });
        markAudited(error);
      }
      throw error;
    }
  }
}
