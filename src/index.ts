import { createHoldfast } from "./holdfast";
import { tools } from "./tools";

const holdfast = createHoldfast({ tools });

export default holdfast.handler;

// The classes that wrangler.toml binds.
export class TaskObject extends holdfast.TaskObject {}
export class SessionObject extends holdfast.SessionObject {}
export class MemoryObject extends holdfast.MemoryObject {}
export { Directory } from "../durable-objects/directory";
export { KeyObject } from "../durable-objects/key-object";
export { OwnerIndex } from "../durable-objects/owner-index";
