import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTHeaderParameters, type JWTPayload } from "jose";

export const AUDIENCE = "https://holdfast.example/mcp";

export type SigningKey = {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
};

export async function signingKey(alg: string, kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** A token as an authorization server makes it; what is undefined in `over` is left out. */
export function signed(
  { kid, alg, privateKey }: SigningKey,
  issuer: string,
  over: JWTPayload = {},
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss: issuer, aud: AUDIENCE, sub: "ann", iat: now, exp: now + 3600, ...over };
  return new SignJWT(payload).setProtectedHeader({ alg, kid, typ: "at+jwt", ...header }).sign(privateKey);
}
