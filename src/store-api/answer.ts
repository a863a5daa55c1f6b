import type { JsonText } from "../task/json";

/** What an operation answers: JSON text, so that the caller's own values go out as they came in. */
export type Answer = {
  readonly status: number;
  readonly text: JsonText;
  readonly headers?: Readonly<Record<string, string>>;
};

export const ok = (text: JsonText, headers?: Answer["headers"]): Answer => ({
  status: 200,
  text,
  ...(headers ? { headers } : {}),
});

export const toResponse = ({ status, text, headers }: Answer): Response =>
  new Response(status === 304 ? null : text, {
    status,
    headers: { ...(status === 304 ? {} : JSON_TYPE), "Cache-Control": "no-store", ...headers },
  });

export const JSON_TYPE = { "Content-Type": "application/json" };
