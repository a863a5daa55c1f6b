import type { RemoteTool } from "../tool/remote-tool";
import { requireExactNumbers } from "../json";
import { remoteToolSchema } from "../remote-tool-schema";
import { checkRemoteTool } from "../service/remote-tool-declaration";
import { TaskError } from "../task/errors";
import { isObject } from "../task/json";
import { ok } from "./answer";
import type { Operation, StoreContext, StoreDeps } from "./deps";
import { NoQuery, queryOf, read } from "./schemas";

const ONE = "/tools/:name";

/** Tools whose work is done elsewhere, declared by whoever does it. Those that the deployment declares are not here. */
export function toolOperations({ remoteTools, catalog }: StoreDeps): readonly Operation[] {
  const nameOf = (c: StoreContext): string => {
    queryOf(c, NoQuery);
    return c.req.param("name") ?? "";
  };
  return [
    {
      method: "GET",
      path: "/tools",
      opens: "workers",
      serve: async (c) => {
        queryOf(c, NoQuery);
        return ok({ tools: await remoteTools.list() });
      },
    },
    {
      method: "GET",
      path: ONE,
      opens: "workers",
      serve: async (c) => {
        const tool = await remoteTools.get(nameOf(c));
        if (!tool) throw new TaskError("not_found", "No tool of this name is declared here.");
        return ok(tool);
      },
    },
    {
      method: "PUT",
      path: ONE,
      opens: "workers",
      hasBody: true,
      serve: async (c) => {
        const tool = declared(c, nameOf(c));
        checkRemoteTool(tool, (name) => catalog.owns(name));
        await remoteTools.put(tool);
        return ok(tool);
      },
    },
    {
      method: "DELETE",
      path: ONE,
      opens: "workers",
      serve: async (c) => ok({ removed: await remoteTools.remove(nameOf(c)) }),
    },
  ];
}

/** The body may leave the name out; another one than the path's is a mistake. */
function declared(c: StoreContext, name: string): RemoteTool {
  const { value, unsafeNumbers } = c.var.posted;
  requireExactNumbers(unsafeNumbers);
  const tool = read(remoteToolSchema, isObject(value) ? { name, ...value } : value);
  if (tool.name !== name) throw new TaskError("invalid", "body.name must be the name in the path, or be left out.");
  return tool;
}
