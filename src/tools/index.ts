import type { AnyTool } from "../tool/define-tool";
import { approve } from "./approve";
import { digest } from "./digest";
import { waitUntil } from "./wait-until";

/** The tools this deployment serves, in the order clients list them. To add one: `defineTool` in a file here, and its name in this line. */
export const tools: readonly AnyTool[] = [digest, approve, waitUntil];
