import { documents } from "./documents";
import { endingTasks } from "./ending-tasks";
import { heardAnswers } from "./heard-answers";
import { mergingTasks } from "./merging-tasks";
import { namedSetters } from "./named-setters";
import { replacingTasks } from "./replacing-tasks";
import { scopedTasks } from "./scoped-tasks";
import type { ContractCase } from "./subject";

/** Every item of the store contracts that a store can be asked about. Framework-neutral: a case passes or rejects. */
export const recordContract: readonly ContractCase[] = [
  ...mergingTasks,
  ...scopedTasks,
  ...replacingTasks,
  ...endingTasks,
  ...documents,
  ...namedSetters,
  ...heardAnswers,
];
