import { createServer } from "node:http";
import { AUDIENCE, type SigningKey } from "./access-token";

/** An authorization server, as far as a resource server sees one: where it publishes its keys. */
export async function startIssuer() {
  let keys: readonly SigningKey[] = [];
  let down = false;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    if (down) return response.destroy();
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(new TextEncoder().encode(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return {
    url,
    oauth: { issuer: url, audience: AUDIENCE, jwksUrl: `${url}/keys` },
    publish: (...published: readonly SigningKey[]) => void (keys = published),
    /** It hangs up on whoever asks. */
    goDown: () => void (down = true),
    comeBack: () => void (down = false),
    /** How often its keys were asked for. */
    asked: () => asked,
    stop: () => server.close(),
  };
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;
