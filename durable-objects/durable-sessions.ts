import { digestOf } from "../src/service/digest";
import type { SessionMessage, SessionRole, Sessions } from "../src/service/sessions";
import { attach, ownerFeed } from "./feed";
import { roleHeaders } from "./feed-socket";
import { calling, callingOnce } from "./object-call";
import { sessionStub, type StorageBindings } from "./rpc";

export type DurableSessionsParts = { readonly objects: StorageBindings };

/** A session is an object of its own, under its random key. */
export function durableSessions({ objects }: DurableSessionsParts): Sessions {
  const object = ({ key }: { readonly key: string }) => sessionStub(objects, key);
  return {
    // Repeated, it could keep the message twice.
    append: (session, stream, message) => callingOnce(() => object(session).append(session, stream, message)),
    replay: (session, lastEventId) => calling(() => object(session).replay(session, lastEventId)),
    setLogLevel: (session, level) => calling(() => object(session).setLogLevel(session, level)),
    logLevel: (session) => calling(() => object(session).logLevel(session)),
    answer: (session, call, key, answer) => calling(() => object(session).answer(session, call, key, answer)),
    cancel: async (session, requestId) => {
      const digest = await digestOfId(requestId);
      return calling(() => object(session).cancel(session, digest));
    },
    asking: (session, task) => calling(() => object(session).asking(session, task)),
    claim: (session, tool, idempotency, id) => calling(() => object(session).claim(session, tool, idempotency, id)),
    async *attach(session, role, signal) {
      const headers = roleHeaders(await portable(role));
      yield* ownerFeed(() => attach<SessionMessage>(object(session), headers, signal), signal);
    },
  };
}

/** A request's id is as long as its client likes, and what lies with a socket is not. */
const digestOfId = (requestId: string | number): Promise<string> => digestOf(JSON.stringify(requestId));

const portable = async (role: SessionRole): Promise<SessionRole> =>
  role.kind === "stream" ? role : { ...role, requestId: await digestOfId(role.requestId) };
