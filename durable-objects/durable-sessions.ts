import { digestOf } from "../src/service/digest";
import type { SessionMessage, SessionRole, Sessions } from "../src/service/sessions";
import { attach, ownerFeed } from "./feed";
import { calling, callingOnce, passedOn } from "./object-call";
import { sessionStub, type SessionWish, type StorageBindings } from "./rpc";

export type DurableSessionsParts = { readonly objects: StorageBindings };

/** A session is an object of its own, under its random key. */
export function durableSessions({ objects }: DurableSessionsParts): Sessions {
  const object = ({ key }: { readonly key: string }) => sessionStub(objects, key);
  return {
    ...passedOn(object, "replay", "setLogLevel", "logLevel", "answer", "asking", "claim"),
    // Repeated, it could keep the message twice.
    append: (session, stream, message) => callingOnce(() => object(session).append(session, stream, message)),
    cancel: async (session, requestId) => {
      const digest = await digestOfId(requestId);
      return calling(() => object(session).cancel(session, digest));
    },
    async *attach(session, role, signal) {
      const wish: SessionWish = { role: await portable(role) };
      yield* ownerFeed(() => attach<SessionMessage>(object(session), wish, signal), signal);
    },
  };
}

/** A request's id is as long as its client likes, and what lies with a socket is not. */
const digestOfId = (requestId: string | number): Promise<string> => digestOf(JSON.stringify(requestId));

const portable = async (role: SessionRole): Promise<SessionRole> =>
  role.kind === "stream" ? role : { ...role, requestId: await digestOfId(role.requestId) };
