import type { Message } from "@a2a-js/sdk";
import { TaskError } from "../task/errors";
import { isObject, type JsonObject } from "../task/json";
import { A2aError } from "./errors";

/** All text of a message, a line per part; empty when it has none. */
export const textOf = ({ parts }: Message): string =>
  parts.flatMap(({ content }) => (content?.$case === "text" ? [content.value] : [])).join("\n");

export const dataIn = ({ parts }: Message): unknown[] =>
  parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value as unknown] : []));

/**
 * The object in the data part of a message; undefined when there is none. Files are kept with the message, and no tool
 * takes them: a message of nothing else could not be understood.
 */
export function dataOf(message: Message): JsonObject | undefined {
  const data = dataIn(message);
  if (data.length > 1) throw new TaskError("invalid", "A message has one data part at most; this one has more.");
  if (data.length === 1) {
    if (isObject(data[0])) return data[0];
    throw new TaskError("invalid", "The data part of a message must be a JSON object.");
  }
  if (message.parts.some(({ content }) => content?.$case === "text")) return undefined;
  throw new A2aError("content_type", "Skills take text and JSON data; this message has only files.");
}
