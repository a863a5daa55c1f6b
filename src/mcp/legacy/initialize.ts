import type { JsonRpcRequest, Whole } from "../../json-rpc";
import { isObject, type JsonObject } from "../../task/json";
import { readParams } from "../schemas";
import { serverInfo } from "../server-info";
import type { Inbound } from "../wing";
import type { LegacyRevision } from "./revision";
import { InitializeParams } from "./schemas";
import { mintSession } from "./session";

/**
 * Begins a session. The client's version where it is served, else the newest of those that can be agreed on
 * (2025-11-25 lifecycle §Version Negotiation).
 */
export async function initialize(
  request: Inbound & JsonRpcRequest,
  revisionFor: (version: string) => LegacyRevision,
): Promise<Whole> {
  const { principal, deps } = request;
  const { protocolVersion, capabilities } = readParams(request, InitializeParams);
  const revision = revisionFor(protocolVersion);
  const { version } = revision;
  const result = {
    protocolVersion: version,
    capabilities: {
      tools: { listChanged: true },
      logging: {},
      ...revision.capabilities(principal),
    },
    serverInfo,
  };
  const session = await mintSession(deps, principal, version, declared(capabilities, revision));
  return { result: JSON.stringify(result), headers: { "Mcp-Session-Id": session } };
}

/** What the client declared and the revision has: the session id carries it on each request, so no more than that. */
function declared(capabilities: JsonObject, { clientCapabilities }: LegacyRevision): JsonObject {
  const present = (from: JsonObject, names: readonly string[]): readonly string[] =>
    names.filter((name) => isObject(from[name]));
  return Object.fromEntries(
    present(capabilities, Object.keys(clientCapabilities)).map((name) => {
      const members = present(capabilities[name] as JsonObject, clientCapabilities[name] ?? []);
      return [name, Object.fromEntries(members.map((member) => [member, {}]))];
    }),
  );
}
