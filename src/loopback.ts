/** Whether a URL's hostname (as `URL` normalises it) can only mean this machine: localhost, 127.0.0.0/8 or [::1]. */
export const isLoopbackHostname = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);

/**
 * Whether the request was addressed to this machine. A page that reaches a local server by DNS rebinding still names
 * its own host, so a `Host` that says otherwise than the URL counts too.
 */
export function onLoopbackHost(request: Request): boolean {
  const host = request.headers.get("host");
  return isLoopback(request.url) && (host === null || isLoopback(`http://${host}`));
}

function isLoopback(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && isLoopbackHostname(parsed.hostname);
}
