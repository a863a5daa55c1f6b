// The little of Node that tests in plain Node use. All of @types/node would declare the Worker's globals a second time.

declare module "node:crypto" {
  type Buffer = Uint8Array & { toString(encoding: "hex"): string };
  type Hash = { update(bytes: Uint8Array): Hash; digest(): Buffer };
  export function createHash(algorithm: "sha256"): Hash;
}

declare module "node:http" {
  type IncomingMessage = { readonly headers: Readonly<Record<string, string | undefined>> };
  type ServerResponse = {
    writeHead(status: number, headers: Readonly<Record<string, string | number>>): void;
    write(bytes: Uint8Array, written: () => void): void;
    end(bytes?: Uint8Array): void;
    destroy(): void;
  };
  type Server = {
    listen(port: number, host: string, listening: () => void): void;
    address(): { readonly port: number };
    close(): void;
  };
  export function createServer(handle: (request: IncomingMessage, response: ServerResponse) => void): Server;
}

declare module "node:zlib" {
  export function gzipSync(bytes: Uint8Array): Uint8Array;
}
