import type { Role, TaskState } from "@a2a-js/sdk";
import type { Standing } from "../task/standing";

// The numbers of the SDK's enumerations (A2A 1.0 §4.1). Written out, since the enumerations themselves would bring a second
// copy of the SDK's converters along.
export const ROLE = { user: 1, agent: 2 } as const satisfies Record<string, Role>;

const STATES = {
  submitted: 1,
  working: 2,
  done: 3,
  failed: 4,
  cancelled: 5,
  input_required: 6,
  rejected: 7,
  auth_required: 8,
} as const satisfies Record<Standing, TaskState>;

export const stateOf = (standing: Standing): TaskState => STATES[standing];

/** Undefined for the number of none: 0 is "unspecified". */
export const standingFor = (state: TaskState): Standing | undefined =>
  (Object.keys(STATES) as Standing[]).find((standing) => STATES[standing] === state);
