import { expect, it } from "vitest";
import { authenticator } from "../src/auth";

// `printf %s alpha | sha256sum`
const sha256 = "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8";
const tokens = [{ sha256, subject: "ann", scopes: ["client"] as const }];
const authenticate = authenticator({ tokens, oauth: null, allowAnonymous: false }, { clock: Date.now });
const door = { path: "/mcp", scopes: ["client"] } as const;
const request = (token: string) =>
  new Request("https://holdfast.example/", { headers: { Authorization: `Bearer ${token}` } });

it("compares tokens with the runtime's own constant-time comparison", async () => {
  expect(crypto.subtle.timingSafeEqual).toBeTypeOf("function");
  expect(await authenticate(request("alpha"), door)).toMatchObject({ principal: { subject: "ann" } });
  expect(await authenticate(request("alphb"), door)).toMatchObject({ kind: "refused", status: 401 });
});
