import { Hono } from "hono/tiny";
import type { Authenticate } from "../auth";
import { cardRoutes } from "./card-routes";
import type { A2aDeps } from "./deps";
import { handlerFor } from "./handler";
import { a2aRoutes } from "./routes";

/** A2A 1.0 §8.2. */
export const AGENT_CARD_PATH = "/.well-known/agent-card.json";

/** The Agent2Agent protocol: the endpoint, and the card for everybody. */
export const a2aDoors = (deps: A2aDeps, authenticate: Authenticate) => ({
  endpoint: new Hono().all("*", a2aRoutes(deps, authenticate, handlerFor)),
  card: cardRoutes(deps),
});
