// One tool source, one behaviour: in the task's object, in a runner object of a store that only keeps, in a Workflow.
import { evictDurableObject } from "cloudflare:test";
import { describeRunner } from "./contract";
import { taskObject, workflowOf } from "./stage";

const evicted = (id: string) => evictDurableObject(taskObject(id));
const restarted = async (id: string) => (await workflowOf(id)).restart();

describeRunner("a tool in its task's object", "object", "objects", evicted);
describeRunner("a tool in a Workflow", "workflow", "objects", restarted);
describeRunner("a tool in a runner object, over D1", "object", "d1");
describeRunner("a tool in a Workflow, over D1", "workflow", "d1", restarted);
