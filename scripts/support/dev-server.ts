// `wrangler dev` as a child: on a port of its own, with state of its own, killed or stopped as a whole.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export type DevServerOptions = {
  /** An environment of wrangler.toml; without it the deployment itself. */
  readonly env?: string;
  /** Settings in place of those of wrangler.toml. */
  readonly vars?: Readonly<Record<string, string>>;
  /** The code as it ships, minified: it takes some seconds longer. */
  readonly minified?: boolean;
  /** The checkout to serve; this one, if left out. */
  readonly root?: string;
  /** Where state and logs lie; left out, in a directory that `stop` removes. */
  readonly home?: string;
};

export type DevServer = {
  /** `http://127.0.0.1:port`, the same after a restart. */
  readonly url: string;
  /** What the server printed, for when something went wrong. */
  output(): string;
  /** SIGKILL to the whole process group: nothing gets to say goodbye. What is on disk stays. */
  kill(): Promise<void>;
  /** After `kill`: a new server on the same port and the same state. */
  restart(): Promise<void>;
  /** Ends it and removes its state, unless it was given a home. */
  stop(): Promise<void>;
};

export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "holdfast-dev-")));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let running = launch(home, port, options);
  const forget = endWithThisProcess(() => running);
  const server: DevServer = {
    url,
    output: () => running.output(),
    kill: () => running.end("SIGKILL"),
    async restart() {
      running = launch(home, port, options);
      await answering(url, running);
    },
    async stop() {
      await running.end("SIGTERM");
      forget();
      if (options.home === undefined) await rm(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    await answering(url, running);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

type Running = {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  output(): string;
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
};

const ROOT = resolve(import.meta.dirname, "../..");
const WRANGLER = resolve(ROOT, "node_modules/wrangler/bin/wrangler.js");

/** Each live object holds file descriptors, and the usual limits run out after a few hundred. */
const MORE_FILES = 'ulimit -n 20000 2>/dev/null || ulimit -n "$(ulimit -Hn)" 2>/dev/null; exec "$@"';

function launch(
  home: string,
  port: number,
  { env, vars = {}, minified = false, root = ROOT }: DevServerOptions,
): Running {
  const args = ["dev", "--ip", "127.0.0.1", "--port", String(port), "--inspector-port", "0"];
  args.push("--persist-to", join(home, "state"), "--show-interactive-dev-session=false");
  // An empty environment name means the top level, whatever CLOUDFLARE_ENV says; an empty file, that the secrets of
  // whoever runs this stay out: only wrangler.toml and `vars` count.
  args.push("--env", env ?? "", "--env-file", "/dev/null");
  for (const [name, value] of Object.entries(vars)) args.push("--var", `${name}:${value}`);
  const child = spawn("sh", ["-c", MORE_FILES, "sh", process.execPath, WRANGLER, ...args], {
    cwd: root,
    // A process group of its own: wrangler starts further processes, and all must end together.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      NO_COLOR: "1",
      MINIFY: String(minified),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_HIDE_BANNER: "true",
      WRANGLER_LOG_PATH: join(home, "logs"),
      WRANGLER_REGISTRY_PATH: join(home, "registry"),
      X_LOCAL_OBSERVABILITY: "false",
      // Nothing is fetched from the network to fill in `request.cf`.
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
  });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<void>((closed) => child.once("close", () => closed()));
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    signalGroup(child, signal);
    await Promise.race([ended, delay(5000, undefined, { ref: false })]);
    // Whatever of the group did not go by itself.
    signalGroup(child, "SIGKILL");
    await ended;
  };
  return { child, ended, output: () => output, end };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Resolves once the Worker answers anything at all. */
async function answering(url: string, running: Running): Promise<void> {
  let over = false;
  void running.ended.then(() => (over = true));
  const deadline = Date.now() + 90_000;
  while (!over && Date.now() < deadline) {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) }).catch(() => null);
    await response?.body?.cancel();
    if (response) return;
    await delay(100);
  }
  throw new Error(`The Worker did not start${over ? "" : " in time"}:\n${running.output()}`);
}

/** However this process ends, short of being killed itself, the group ends with it. */
function endWithThisProcess(running: () => Running): () => void {
  const end = (): void => signalGroup(running().child, "SIGKILL");
  const interrupted = (signal: NodeJS.Signals): void => {
    end();
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  process.once("exit", end);
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  return () => {
    process.off("exit", end);
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  };
}

/** A port nobody listens on now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
