import { isLoopbackHostname, onLoopbackHost } from "./loopback";

/**
 * The defence against DNS rebinding (MCP 2026-07-28 transports §Security & Endpoint: a present and invalid `Origin` is
 * 403). A request without `Origin` is no browser's and passes; loopback pages may talk to a loopback server.
 */
export function originAllowed(request: Request, config: { readonly allowedOrigins: readonly string[] }): boolean {
  const header = request.headers.get("origin");
  if (header === null) return true;
  const origin = parseOrigin(header);
  // `null` is what sandboxed frames and local files send: it names nobody.
  if (origin === null) return false;
  return config.allowedOrigins.includes(origin) || (isLoopbackOrigin(origin) && onLoopbackHost(request));
}

/** The one spelling of an origin (`https://host`, `https://host:8443`), or null for what is none. */
export function parseOrigin(text: string): string | null {
  const url = URL.parse(text);
  // A wildcard would be a host of that very name, and match nothing.
  if (url === null || url.host === "" || url.host.includes("*") || url.username !== "" || url.password !== "")
    return null;
  if ((url.pathname !== "" && url.pathname !== "/") || /[?#\\]/.test(text)) return null;
  // `URL.origin` is "null" for the schemes of browser extensions and desktop web views.
  return `${url.protocol}//${url.host.toLowerCase()}`;
}

function isLoopbackOrigin(origin: string): boolean {
  const url = new URL(origin);
  return (url.protocol === "http:" || url.protocol === "https:") && isLoopbackHostname(url.hostname);
}
