import type { AgentCard, AgentExtension, AgentSkill } from "@a2a-js/sdk";
import { version } from "../../package.json";
import type { Principal } from "../service/principal";
import type { RegisteredTool } from "../tool/registry";
import type { A2aDeps } from "./deps";
import { A2aError } from "./errors";
import { INPUT_REQUESTS_URI, TASK_FACTS_URI } from "./extensions";
import { freeTextField } from "./free-text";

/** On the extended card: by skill, the JSON Schemas of the data it takes and gives. */
export const SKILL_SCHEMAS_URI = "https://holdfast.dev/a2a/skill-schemas/v1";

const JSON_MODE = "application/json";
const TEXT_MODE = "text/plain";

/** Who this is and what it can do, for anybody (A2A 1.0 §4.4.1): each tool is a skill. `origin`: as it was addressed. */
export async function agentCard(deps: A2aDeps, origin: string): Promise<AgentCard> {
  return cardOf(deps, origin, await deps.tools.list(), []);
}

/** The same for who is known, with what it takes to call a skill by a program. */
export async function extendedCard(deps: A2aDeps, origin: string, principal: Principal): Promise<AgentCard> {
  if (principal.kind === "anonymous") {
    throw new A2aError("unsupported", "This agent has one card, for everybody: nobody has to say who they are.");
  }
  const tools = await deps.tools.list();
  const schemas = tools.map(({ tool, inputSchema, outputSchema }) => [
    tool.name,
    { input: inputSchema, ...(outputSchema ? { output: outputSchema } : {}) },
  ]);
  const extension = {
    ...declared(SKILL_SCHEMAS_URI, "The JSON Schemas of each skill's data parts."),
    params: Object.fromEntries(schemas) as Record<string, object>,
  };
  return cardOf(deps, origin, tools, [extension]);
}

function cardOf(
  { config, tasks }: A2aDeps,
  origin: string,
  tools: readonly RegisteredTool[],
  extensions: readonly AgentExtension[],
): AgentCard {
  const at = (protocolBinding: string, protocolVersion: string) => ({
    url: `${origin}/a2a`,
    protocolBinding,
    protocolVersion,
    tenant: "",
  });
  const schemes = schemesOf(config, origin);
  return {
    name: "Holdfast",
    description:
      "Durable tasks for slow tools: each skill is a tool, and its tasks survive restarts, waits and deploys.",
    version,
    // The first of a binding is what clients take.
    supportedInterfaces: [
      at("JSONRPC", "1.0"),
      at("HTTP+JSON", "1.0"),
      ...(config.a2a.legacy ? [at("JSONRPC", "0.3")] : []),
    ],
    provider: undefined,
    capabilities: {
      streaming: true,
      pushNotifications: tasks.pushes,
      extendedAgentCard: Object.keys(schemes).length > 0,
      extensions: [
        declared(INPUT_REQUESTS_URI, "What a task asks, as JSON beside the words."),
        declared(TASK_FACTS_URI, "Facts of a task, in its metadata."),
        ...extensions,
      ],
    },
    securitySchemes: schemes,
    // Any of them will do.
    securityRequirements: Object.keys(schemes).map((name) => ({ schemes: { [name]: { list: [] } } })),
    defaultInputModes: [JSON_MODE, TEXT_MODE],
    defaultOutputModes: [JSON_MODE, TEXT_MODE],
    skills: tools.map(skillOf),
    signatures: [],
  };
}

function skillOf(registered: RegisteredTool): AgentSkill {
  const { name, title, description, task } = registered.tool;
  return {
    id: name,
    name: title ?? name,
    description,
    // There must be one; this says what a message comes to.
    tags: [task === "forbidden" ? "reply" : "task"],
    examples: [],
    inputModes: freeTextField(registered) === undefined ? [JSON_MODE] : [JSON_MODE, TEXT_MODE],
    outputModes: registered.outputSchema ? [JSON_MODE, TEXT_MODE] : [TEXT_MODE],
    securityRequirements: [],
  };
}

/** A bearer token either way; where tokens of an authorization server come from is told by the protected resource. */
function schemesOf({ tokens, oauth }: A2aDeps["config"], origin: string): AgentCard["securitySchemes"] {
  const bearer = (description: string, bearerFormat = "") => ({
    scheme: { $case: "httpAuthSecurityScheme" as const, value: { scheme: "Bearer", description, bearerFormat } },
  });
  return {
    ...(tokens ? { token: bearer("A token that whoever runs this agent has given out.") } : {}),
    ...(oauth
      ? {
          oauth: bearer(
            `An access token of ${oauth.issuer}; see ${origin}/.well-known/oauth-protected-resource/a2a (RFC 9728).`,
            "JWT",
          ),
        }
      : {}),
  };
}

const declared = (uri: string, description: string): AgentExtension => ({
  uri,
  description,
  required: false,
  params: undefined,
});
