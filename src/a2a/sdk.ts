// The only place that loads the SDK, whose entries each bring a copy of all its converters: whoever needs it imports this
// when it does, so that a Worker that is spoken to in other protocols never evaluates it.
export { JsonRpcTransportHandler, ServerCallContext } from "@a2a-js/sdk/server";
export { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
