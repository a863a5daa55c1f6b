/**
 * The shapes of A2A 1.0 as its strict readers take them (§4, ProtoJSON): each field's type, `!` where it is required. What is
 * not named here makes such a reader drop the whole answer. `[]`: a list, which is left out when it is empty; `*`: one that
 * may be empty; `{}`: by names of the agent's own.
 */
const SHAPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Task: {
    id: "string!",
    contextId: "string",
    status: "TaskStatus!",
    artifacts: "Artifact[]",
    history: "Message[]",
    metadata: "object",
  },
  TaskStatus: { state: "state!", message: "Message", timestamp: "time" },
  Message: {
    messageId: "string!",
    contextId: "string!",
    taskId: "string",
    role: "role!",
    parts: "Part[]!",
    metadata: "object",
    extensions: "string[]",
    referenceTaskIds: "string[]",
  },
  Part: {
    text: "string",
    raw: "base64",
    url: "string",
    data: "json",
    metadata: "object",
    filename: "string",
    mediaType: "string",
  },
  Artifact: {
    artifactId: "string!",
    name: "string",
    description: "string",
    parts: "Part[]!",
    metadata: "object",
    extensions: "string[]",
  },
  StreamResponse: {
    task: "Task",
    message: "Message",
    statusUpdate: "StatusUpdate",
    artifactUpdate: "ArtifactUpdate",
  },
  StatusUpdate: { taskId: "string!", contextId: "string!", status: "TaskStatus!", metadata: "object" },
  ArtifactUpdate: {
    taskId: "string!",
    contextId: "string!",
    artifact: "Artifact!",
    append: "boolean",
    lastChunk: "boolean",
    metadata: "object",
  },
  SendMessageResponse: { task: "Task", message: "Message" },
  ListTasksResponse: { tasks: "Task*!", nextPageToken: "string!", pageSize: "integer!", totalSize: "integer!" },
  TaskPushNotificationConfig: {
    taskId: "string!",
    id: "string!",
    url: "string!",
    token: "string",
    authentication: "AuthenticationInfo",
    tenant: "string",
  },
  AuthenticationInfo: { scheme: "string!", credentials: "string" },
  ListTaskPushNotificationConfigsResponse: { configs: "TaskPushNotificationConfig*!", nextPageToken: "string!" },
  Nothing: {},
  AgentCard: {
    name: "string!",
    description: "string!",
    version: "string!",
    supportedInterfaces: "AgentInterface[]!",
    provider: "AgentProvider",
    documentationUrl: "string",
    iconUrl: "string",
    capabilities: "AgentCapabilities!",
    securitySchemes: "SecurityScheme{}",
    securityRequirements: "SecurityRequirement[]",
    defaultInputModes: "string[]!",
    defaultOutputModes: "string[]!",
    skills: "AgentSkill[]!",
    signatures: "AgentCardSignature[]",
  },
  AgentInterface: { url: "string!", protocolBinding: "string!", protocolVersion: "string!", tenant: "string" },
  AgentProvider: { url: "string!", organization: "string!" },
  AgentCapabilities: {
    streaming: "boolean",
    pushNotifications: "boolean",
    extendedAgentCard: "boolean",
    extensions: "AgentExtension[]",
  },
  AgentExtension: { uri: "string!", description: "string", required: "boolean", params: "object" },
  AgentSkill: {
    id: "string!",
    name: "string!",
    description: "string!",
    tags: "string[]!",
    examples: "string[]",
    inputModes: "string[]",
    outputModes: "string[]",
    securityRequirements: "SecurityRequirement[]",
  },
  SecurityRequirement: { schemes: "StringList{}" },
  StringList: { list: "string[]" },
  // Of the five kinds the only one that is declared here.
  SecurityScheme: { httpAuthSecurityScheme: "HttpAuthSecurityScheme!" },
  HttpAuthSecurityScheme: { scheme: "string!", bearerFormat: "string", description: "string" },
  AgentCardSignature: { protected: "string!", signature: "string!", header: "object" },
};

const ONE_OF: Readonly<Record<string, readonly string[]>> = {
  Part: ["text", "raw", "url", "data"],
  StreamResponse: ["task", "message", "statusUpdate", "artifactUpdate"],
  SendMessageResponse: ["task", "message"],
};

const PATTERNS: Readonly<Record<string, RegExp>> = {
  state: /^TASK_STATE_(SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|REJECTED|INPUT_REQUIRED|AUTH_REQUIRED)$/,
  role: /^ROLE_(USER|AGENT)$/,
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  base64: /^[A-Za-z0-9+/]*={0,2}$/,
};

/** What a strict reader would find wrong with the value, each with its path; of a proper one nothing. */
export function faultsOf(value: unknown, type: string, path = type): string[] {
  if (type === "json") return value === undefined ? [`${path} is missing`] : [];
  if (type.endsWith("[]")) {
    // Empty lists are left out in ProtoJSON.
    if (!Array.isArray(value) || value.length === 0) return [`${path} is no filled list`];
    return value.flatMap((one, at) => faultsOf(one, type.slice(0, -2), `${path}[${at}]`));
  }
  if (type.endsWith("*")) {
    return Array.isArray(value) && value.length === 0 ? [] : faultsOf(value, `${type.slice(0, -1)}[]`, path);
  }
  const pattern = PATTERNS[type];
  if (pattern) return typeof value === "string" && pattern.test(value) ? [] : [`${path} is no ${type}`];
  if (type === "string" || type === "boolean") return typeof value === type ? [] : [`${path} is no ${type}`];
  if (type === "integer") return Number.isInteger(value) ? [] : [`${path} is no integer`];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${path} is no object`];
  const fields = value as Readonly<Record<string, unknown>>;
  if (type.endsWith("{}")) {
    return Object.entries(fields).flatMap(([name, one]) => faultsOf(one, type.slice(0, -2), `${path}.${name}`));
  }
  const shape = SHAPES[type];
  if (!shape) return [];
  const faults = Object.keys(fields).flatMap((name) => (shape[name] ? [] : [`${path}.${name} is unknown`]));
  for (const [name, kind] of Object.entries(shape)) {
    if (fields[name] !== undefined) faults.push(...faultsOf(fields[name], kind.replace("!", ""), `${path}.${name}`));
    else if (kind.endsWith("!")) faults.push(`${path}.${name} is missing`);
  }
  const choices = ONE_OF[type];
  if (choices && choices.filter((name) => Object.hasOwn(fields, name)).length !== 1)
    faults.push(`${path} is not one of`);
  return faults;
}
