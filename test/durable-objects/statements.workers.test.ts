import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { directorySql, directoryUpgrades } from "../../durable-objects/directory-sql";
import { ownerIndexSql, ownerIndexUpgrades } from "../../durable-objects/owner-index-sql";
import { recordShelfSql, recordShelfUpgrades } from "../../durable-objects/record-shelf-sql";
import { queueSql, queueUpgrades } from "../../durable-objects/queue-sql";
import { sessionSql, sessionUpgrades } from "../../durable-objects/session-object-sql";
import { taskShelfSql, taskShelfUpgrades } from "../../durable-objects/task-shelf-sql";
import { toolsSql, toolsUpgrades } from "../../durable-objects/tools-object-sql";
import { emptyDeployment, objects } from "../stores/objects";

// Scanned rows are billed and a sort holds them all: every statement goes by an index.
describe.each([
  ["a task", taskShelfUpgrades, taskShelfSql],
  ["a record", recordShelfUpgrades, recordShelfSql],
  ["an owner's index", ownerIndexUpgrades, ownerIndexSql],
  ["the directory", directoryUpgrades, directorySql],
  ["a session", sessionUpgrades, sessionSql],
  ["a queue", queueUpgrades, queueSql],
  ["the declared tools", toolsUpgrades, toolsSql],
])("the statements of %s", (_, upgrades, statements) => {
  it.each(Object.entries(statements))("%s: goes by an index", async (_name, statement) => {
    expect(await plan(upgrades, statement)).not.toMatch(/SCAN|TEMP B-TREE/);
  });
});

it.each(["total", "totalContext", "totalStanding"] as const)("%s: counts by an index alone", async (name) => {
  expect(await plan(ownerIndexUpgrades, ownerIndexSql[name])).toMatch(/COVERING INDEX task_/);
});

it("would see a scan and a sort", async () => {
  expect(await plan(ownerIndexUpgrades, "SELECT id FROM task WHERE origin = ?")).toMatch(/SCAN/);
  expect(await plan(ownerIndexUpgrades, "SELECT id FROM task WHERE created_at < ? ORDER BY tool")).toMatch(
    /TEMP B-TREE/,
  );
});

async function plan(upgrades: readonly string[], statement: string): Promise<string> {
  await emptyDeployment();
  const blank = objects.TASKS.get(objects.TASKS.newUniqueId());
  return runInDurableObject(blank, (_, { storage: { sql } }) => {
    for (const upgrade of upgrades) sql.exec(upgrade);
    const values = (statement.match(/\?/g) ?? []).map(() => 1);
    const steps = sql.exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${statement}`, ...values).toArray();
    return steps.map(({ detail }) => detail).join("\n");
  });
}
