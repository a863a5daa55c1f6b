// Requests as bytes over a socket, for what no client library lets one do: leave in the middle, or say nothing at all.
import { envelope, headersFor, only, withEverything, type Wire } from "./mcp";

export type RawOptions = { readonly token?: string; readonly signal?: AbortSignal; readonly capabilities?: object };

export async function send(
  url: string,
  method: string,
  params: Wire,
  { token, signal, capabilities = withEverything }: RawOptions = {},
): Promise<Response> {
  const headers = headersFor(method, params, token);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: envelope(capabilities) } });
  return fetch(`${url}/mcp`, { method: "POST", headers, body, ...(signal ? { signal } : {}) });
}

export const call = async (url: string, method: string, params: Wire, options?: RawOptions): Promise<Wire> =>
  only(await send(url, method, params, options));
