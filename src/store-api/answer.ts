import type { JsonText } from "../task/json";
import { objectText } from "./record-text";

/** What an operation answers: JSON text, so that the caller's own values go out as they came in. */
export type Answer = {
  readonly status: number;
  readonly text: JsonText;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/** Plain members, and members that are JSON text. */
export const ok = (...members: Parameters<typeof objectText>): Answer => ({
  status: 200,
  text: objectText(...members),
});

export const toResponse = ({ status, text, headers }: Answer): Response =>
  new Response(status === 304 ? null : text, {
    status,
    headers: { ...(status === 304 ? {} : JSON_TYPE), "Cache-Control": "no-store", ...headers },
  });

const JSON_TYPE = { "Content-Type": "application/json" };
