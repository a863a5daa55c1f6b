import { createHoldfast } from "./holdfast";
import { tools } from "./tools";

const holdfast = createHoldfast({ tools });

export default holdfast.handler;

// The classes that wrangler.toml binds.
export class TaskObject extends holdfast.TaskObject {}
export class TaskWorkflow extends holdfast.TaskWorkflow {}
export class SessionObject extends holdfast.SessionObject {}
export class MemoryObject extends holdfast.MemoryObject {}
export class RecordObject extends holdfast.RecordObject {}
export class RunnerObject extends holdfast.RunnerObject {}

// What Workers that bind this one call: the store API.
export class StoreEntrypoint extends holdfast.StoreEntrypoint {}

export { Directory } from "../durable-objects/directory";
export { KeyObject } from "../durable-objects/key-object";
export { OwnerIndex } from "../durable-objects/owner-index";
export { QueueObject } from "../durable-objects/queue-object";
export { ToolsObject } from "../durable-objects/tools-object";
