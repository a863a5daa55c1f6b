import type { Message, Part } from "@a2a-js/sdk";
import type { Json, JsonObject, JsonText } from "../task/json";
import { bytesOf } from "./parts";
import { ROLE } from "./states";

/** As A2A 1.0 writes it (§5.5, ProtoJSON): what is empty is left out. */
type StoredMessage = {
  readonly messageId?: string;
  readonly contextId?: string;
  readonly taskId?: string;
  readonly role?: "ROLE_USER" | "ROLE_AGENT";
  readonly parts?: readonly StoredPart[];
  readonly metadata?: JsonObject;
  readonly extensions?: string[];
  readonly referenceTaskIds?: string[];
};

type StoredPart = {
  readonly text?: string;
  readonly raw?: string;
  readonly url?: string;
  readonly data?: Json;
  readonly metadata?: JsonObject;
  readonly filename?: string;
  readonly mediaType?: string;
};

/** What a message may be without. */
export const BARE = {
  messageId: "",
  contextId: "",
  taskId: "",
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
} satisfies Partial<Message>;

/** A message as it is kept: whole, whatever its sender put into it. */
export const storedMessage = ({ role, parts, ...others }: Message): JsonText =>
  JSON.stringify({
    ...filled(others),
    role: role === ROLE.agent ? "ROLE_AGENT" : "ROLE_USER",
    parts: parts.map(toStored),
  });

export function messageOf(text: JsonText): Message {
  const { role, parts = [], ...others } = JSON.parse(text) as StoredMessage;
  return {
    ...BARE,
    ...others,
    role: role === "ROLE_AGENT" ? ROLE.agent : ROLE.user,
    parts: parts.map(fromStored),
  };
}

function toStored({ content, ...others }: Part): object {
  // The SDK reads a part whose data are null as one without content.
  if (!content) return { data: null, ...filled(others) };
  const value: unknown = content.$case === "raw" ? content.value.toString("base64") : content.value;
  return { [content.$case]: value, ...filled(others) };
}

function fromStored({ metadata, filename = "", mediaType = "", ...content }: StoredPart): Part {
  const [[kind, value] = ["data", null]] = Object.entries(content);
  // Which kind of value goes with which kind of part is what was stored.
  const read = { $case: kind, value: kind === "raw" ? bytesOf(String(value)) : value } as Part["content"];
  return { content: read, metadata, filename, mediaType };
}

const filled = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0),
    ),
  );
