import {
  ALWAYS,
  answer,
  flag,
  json,
  list,
  object,
  parameter,
  refusals,
  schema,
  security,
  WITH_BODY,
  type Part,
} from "./parts.ts";

const TOOL = {
  name: "upscale",
  description: "Makes an image larger.",
  inputSchema: { type: "object", properties: { url: { type: "string" } } },
  queue: "gpu",
};

const OPERATION = { tags: ["tools"], ...security("worker", "admin") };

export const toolPaths: Part = {
  "/tools": {
    get: {
      operationId: "listTools",
      summary: "List the remote tools that were declared here",
      ...OPERATION,
      responses: {
        200: answer("By name.", object({ tools: list(schema("RemoteTool")) }), { all: { tools: [TOOL] } }),
        ...refusals(...ALWAYS),
      },
    },
  },
  "/tools/{name}": {
    parameters: [parameter("Tool")],
    get: {
      operationId: "getTool",
      summary: "Read a declaration",
      ...OPERATION,
      responses: { 200: answer("The tool.", schema("RemoteTool"), { found: TOOL }), ...refusals(...ALWAYS) },
    },
    put: {
      operationId: "declareTool",
      summary: "Declare a tool whose work is done elsewhere, in place of one of the same name",
      ...OPERATION,
      requestBody: { required: true, content: json(schema("RemoteTool"), { declared: TOOL }) },
      responses: {
        200: answer(
          "Declared. Clients that listen are told that the list of tools has changed.",
          schema("RemoteTool"),
          {
            declared: TOOL,
          },
        ),
        ...refusals(...WITH_BODY, 429),
      },
    },
    delete: {
      operationId: "removeTool",
      summary: "Withdraw a declaration; tasks that are under way go on",
      ...OPERATION,
      responses: {
        200: answer("Done.", object({ removed: flag("Whether it was there.") }), { removed: { removed: true } }),
        ...refusals(...ALWAYS),
      },
    },
  },
};
