import { ToolError } from "../tool/define-tool";
import { isPublicHost } from "./public-host";

export type SafeFetch = (url: string, init?: RequestInit) => Promise<Response>;

/** `secure`: https only. `allowLocal` (`ALLOW_LOCAL_FETCH`, for development) permits any host and port, and http after all. */
export type FetchRules = { readonly allowLocal: boolean; readonly secure?: boolean };

const MAX_REDIRECTS = 5;
const MAX_URL_LENGTH = 8192;
/** An empty port is the scheme's own: 80 or 443. */
const PORTS: readonly string[] = ["", "80", "443", "8080", "8443"];
/** Meant for the server they were written for, so they do not follow a redirect to another. */
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];
const ABOUT_THE_BODY = ["content-type", "content-length", "content-encoding", "content-language", "content-location"];

/**
 * Fetches URLs that a caller gave. What the address says is checked, on every redirect hop too: scheme, port, user
 * information, address literals and local names. A refusal is a `ToolError`; whatever the network throws passes through.
 */
export function safeFetch(rules: FetchRules, send: SafeFetch = (url, init) => fetch(url, init)): SafeFetch {
  return async (url, init = {}) => {
    const mode = init.redirect ?? "follow";
    let target = checkedUrl(url, rules);
    let request: RequestInit = { ...init, headers: new Headers(init.headers), redirect: "manual" };
    for (let hops = 0; ; hops += 1) {
      const response = await send(target.href, request);
      const location = isRedirect(response.status) ? response.headers.get("location") : null;
      if (location === null || mode === "manual") return response;
      // The body of a redirect is of no use, and holds the connection until it is read or dropped.
      await response.body?.cancel();
      if (mode === "error") throw new ToolError(`${target.host} answered with a redirect, which is not wanted here.`);
      if (hops === MAX_REDIRECTS) throw new ToolError(`The URL leads through more than ${MAX_REDIRECTS} redirects.`);
      const next = checkedUrl(location, rules, target);
      request = redirected(request, response.status, target, next);
      target = next;
    }
  };
}

/** What can be said against an address before anything is sent there. With a base it is a redirect from that. */
export function checkedUrl(text: string, { allowLocal, secure }: FetchRules, base?: URL): URL {
  const what = base ? `The redirect from ${base.host}` : "The URL";
  if (text.length > MAX_URL_LENGTH) throw new ToolError(`${what} is longer than ${MAX_URL_LENGTH} characters.`);
  const url = URL.parse(text, base?.href);
  if (!url) throw new ToolError(`${what} is not a valid absolute URL.`);
  if (url.protocol !== "https:") {
    if (secure && !allowLocal) throw new ToolError(`${what} must be https.`);
    if (url.protocol !== "http:") throw new ToolError(`${what} must be http or https.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new ToolError(`${what} must not carry a user name or password.`);
  }
  if (allowLocal) return url;
  if (!PORTS.includes(url.port)) {
    throw new ToolError(`${what} has port ${url.port}; allowed are 80, 443, 8080 and 8443.`);
  }
  if (!isPublicHost(url.hostname)) {
    throw new ToolError(`${what} leads to ${url.hostname}, which is a local, private or reserved address.`);
  }
  return url;
}

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** The request for the next hop: RFC 9110 §15.4 for method and body, and credentials stay with their origin. */
function redirected(request: RequestInit, status: number, from: URL, to: URL): RequestInit {
  const headers = new Headers(request.headers);
  if (from.origin !== to.origin) for (const name of CREDENTIALS) headers.delete(name);
  const method = (request.method ?? "GET").toUpperCase();
  const becomesGet = status === 303 ? method !== "GET" && method !== "HEAD" : status < 303 && method === "POST";
  if (becomesGet) {
    for (const name of ABOUT_THE_BODY) headers.delete(name);
    const { body: _, ...rest } = request;
    return { ...rest, method: "GET", headers };
  }
  if (request.body instanceof ReadableStream) {
    throw new ToolError(`${from.host} redirects the request, but its body is a stream and cannot be sent twice.`);
  }
  return { ...request, headers };
}
