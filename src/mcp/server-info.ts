import { version } from "../../package.json";

/** MCP `Implementation`: who answers. */
export const serverInfo = { name: "holdfast", version } as const;
