import { TaskError } from "../task/errors";
import type { JsonText } from "../task/json";
import { factsOf, markAudited, type Audit, type AuditLine } from "./audit";
import type { FollowMessage } from "./follow";
import { ownerOf, type Principal } from "./principal";
import type { SettleOptions, StartRequest, TaskServiceParts } from "./task-requests";
import { TaskService } from "./task-service";
import type { ReadOptions, Said, TaskSnapshot, Told } from "./task-store";

/** The use cases, each leaving one line that says who did what to which task, or what was refused and why. */
export class AuditedTaskService extends TaskService {
  readonly #audit: Audit;

  constructor(parts: TaskServiceParts, audit: Audit) {
    super(parts);
    this.#audit = audit;
  }

  override async start(request: StartRequest): Promise<{ readonly task: TaskSnapshot; readonly existing: boolean }> {
    const { principal, tool } = request;
    const started = await this.#refusals({ principal, tool: tool.tool.name }, () => super.start(request));
    if (!started.existing) this.#audit({ audit: "create", ...factsOf(started.task) });
    return started;
  }

  override async get(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot> {
    const task = await this.#refusals({ principal, id }, () => super.get(principal, id, options));
    return options?.body === false ? task : this.#read(task);
  }

  override async look(principal: Principal, id: string, options?: ReadOptions): Promise<TaskSnapshot> {
    const task = await this.#refusals({ principal, id }, () => super.look(principal, id, options));
    return options?.body === false ? task : this.#read(task);
  }

  override async *follow(
    principal: Principal,
    ids: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<FollowMessage> {
    for await (const message of super.follow(principal, ids, signal)) {
      if (message.kind === "task") this.#read(message.task);
      yield message;
    }
  }

  override async settle(principal: Principal, id: string, options: SettleOptions): Promise<TaskSnapshot> {
    const task = await this.#refusals({ principal, id }, () => super.settle(principal, id, options));
    return options.deliver === 1 ? task : this.#read(task);
  }

  override async answer(
    principal: Principal,
    id: string,
    answers: Readonly<Record<string, JsonText>>,
    turn?: Said,
  ): Promise<TaskSnapshot> {
    const task = await this.#refusals({ principal, id }, () => super.answer(principal, id, answers, turn));
    this.#audit({ audit: "answer", ...factsOf(task) });
    return task;
  }

  override async cancel(principal: Principal, id: string): Promise<Told> {
    const told = await this.#refusals({ principal, id }, () => super.cancel(principal, id));
    if (told.changed) this.#audit({ audit: "cancel", ...factsOf(told.task) });
    return told;
  }

  #read(task: TaskSnapshot): TaskSnapshot {
    if (task.stage.phase === "settled") this.#audit({ audit: "read_result", ...factsOf(task) });
    return task;
  }

  async #refusals<T>(
    { principal, id, tool }: { principal: Principal; id?: string; tool?: string },
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof TaskError) {
        const named = { ...(id === undefined ? {} : { task: safeId(id) }), ...(tool === undefined ? {} : { tool }) };
        const line: AuditLine = { audit: "refuse", principal: ownerOf(principal), code: error.code, ...named };
        this.#audit(line);
        markAudited(error);
      }
      throw error;
    }
  }
}

/** What a stranger sent in place of an id may be anything, of any length. */
const safeId = (id: string): string => (/^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : "malformed");
