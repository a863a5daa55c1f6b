import type { JsonText } from "../../task/json";
import { MODERN } from "../era";
import { readParams } from "../schemas";
import { serverHints } from "./caching";
import type { Call } from "./call";
import { toResult } from "./results";
import { RequestParams } from "./schemas";
import { tasksCapability } from "./tasks-extension";

/** Depends on nothing that can fail: a client that gets no answer here takes the server for a legacy one. */
export function discover(call: Call): JsonText {
  readParams(call, RequestParams);
  return toResult("complete", {
    supportedVersions: MODERN,
    capabilities: {
      tools: { listChanged: true },
      // Plain calls send `notifications/message` to clients that ask for a level (logging §Capabilities).
      logging: {},
      extensions: tasksCapability,
    },
    ...serverHints(call),
  });
}
