import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dialectOf, versionOf } from "../../src/a2a/dialect";
import { A2aError } from "../../src/a2a/errors";
import type { JsonObject } from "../../src/task/json";
import { message, oldMessage } from "./a2a-door";

const asking = (header: string | null, query = ""): Request =>
  new Request(`http://localhost/a2a${query}`, { headers: header === null ? {} : { "A2A-Version": header } });

describe("the version", () => {
  it.each<[string | null, string, string | null]>([
    ["1.0", "", "1.0"],
    ["1.0.1", "", "1.0"],
    [" 0.3.0 ", "", "0.3"],
    ["0.3", "", "0.3"],
    [null, "", null],
    ["", "", null],
    ["  ", "", null],
    [null, "?A2A-Version=1.0", "1.0"],
    ["", "?A2A-Version=1.0", "1.0"],
    ["0.3", "?A2A-Version=1.0", "0.3"],
  ])("of the header %j and the query %j is %j", (header, query, version) => {
    expect(versionOf(asking(header, query))).toBe(version);
  });

  it.each(["9.9", "1", "1.1", "v1.0", "1.0, 0.3", "01.0", "1.0.x", "1.0-rc", "2.0", "0.2", "0.3.", "x".repeat(5_000)])(
    "%s is not spoken",
    (header) => {
      expect(() => versionOf(asking(header))).toThrow(
        expect.objectContaining({ fault: "version_not_supported", message: expect.stringMatching(/^.{1,60}$/) }),
      );
    },
  );

  it("does not depend on a patch number", () => {
    fc.assert(
      fc.property(fc.constantFrom("1.0", "0.3"), fc.nat(), (version, patch) => {
        expect(versionOf(asking(`${version}.${patch}`))).toBe(version);
      }),
    );
  });
});

const NEW = [
  "SendMessage",
  "SendStreamingMessage",
  "GetTask",
  "ListTasks",
  "CancelTask",
  "SubscribeToTask",
  "CreateTaskPushNotificationConfig",
  "GetTaskPushNotificationConfig",
  "ListTaskPushNotificationConfigs",
  "DeleteTaskPushNotificationConfig",
  "GetExtendedAgentCard",
];
const OLD = [
  "message/send",
  "message/stream",
  "tasks/get",
  "tasks/cancel",
  "tasks/resubscribe",
  "tasks/pushNotificationConfig/set",
  "tasks/pushNotificationConfig/get",
  "tasks/pushNotificationConfig/list",
  "tasks/pushNotificationConfig/delete",
  "agent/getAuthenticatedExtendedCard",
];

const modern = (method: string) => ({ wire: "a2a/1.0", method });
const old = (method: string) => ({ wire: "a2a/0.3", method });

describe("a request", () => {
  it("is read by a role that is text, and by no other", () => {
    const role = { toString: 1, valueOf: 1 };
    expect(dialectOf("SendMessage", { message: { role } }, null, true).wire).toBe("a2a/0.3");
  });

  it("of who says 1.0 is of 1.0, whatever it holds", () => {
    for (const method of NEW) {
      for (const params of [{}, { message: oldMessage() }, { pushNotificationConfig: {} }]) {
        expect(dialectOf(method, params, "1.0", true)).toEqual(modern(method));
      }
    }
  });

  it.each<["0.3" | null]>([["0.3"], [null]])("with an old name is of 0.3, of who says %j", (version) => {
    for (const method of OLD) expect(dialectOf(method, {}, version, true)).toEqual(old(method));
  });

  it.each<[string, string, JsonObject, object]>([
    ["old message", "SendMessage", { message: oldMessage() }, old("message/send")],
    [
      "old role, plain parts",
      "SendMessage",
      { message: { role: "user", parts: [{ text: "x" }] } },
      old("message/send"),
    ],
    ["new message", "SendMessage", { message: message() }, modern("SendMessage")],
    [
      "new role, marked parts",
      "SendMessage",
      { message: message({ parts: [{ kind: "text", text: "x" }] }) },
      modern("SendMessage"),
    ],
    [
      "agent's role",
      "SendStreamingMessage",
      { message: message({ role: "ROLE_AGENT" }) },
      modern("SendStreamingMessage"),
    ],
    ["nothing", "SendMessage", {}, old("message/send")],
    ["no message", "SendStreamingMessage", { message: "hi" }, old("message/stream")],
    ["an id", "GetTask", { id: "t" }, old("tasks/get")],
    ["an id", "CancelTask", { id: "t" }, old("tasks/cancel")],
    ["an id", "SubscribeToTask", { id: "t" }, old("tasks/resubscribe")],
    ["what 0.3 has not", "ListTasks", {}, modern("ListTasks")],
    [
      "a flat config",
      "CreateTaskPushNotificationConfig",
      { taskId: "t", url: "x" },
      modern("CreateTaskPushNotificationConfig"),
    ],
    [
      "a config inside",
      "CreateTaskPushNotificationConfig",
      { taskId: "t", pushNotificationConfig: {} },
      old("tasks/pushNotificationConfig/set"),
    ],
    ["the new ids", "GetTaskPushNotificationConfig", { taskId: "t", id: "c" }, modern("GetTaskPushNotificationConfig")],
    [
      "the old ids",
      "DeleteTaskPushNotificationConfig",
      { id: "t", pushNotificationConfigId: "c" },
      old("tasks/pushNotificationConfig/delete"),
    ],
  ])("of who says nothing is read by its shape: %s in %s", (_, method, params, dialect) => {
    expect(dialectOf(method, params, null, true)).toEqual(dialect);
    expect(dialectOf(method, params, "0.3", true)).toEqual(dialect);
  });

  it("is of 1.0 or refused where 0.3 is not spoken", () => {
    const refused = expect.objectContaining({ fault: "version_not_supported" });
    for (const method of NEW) expect(() => dialectOf(method, { taskId: "t" }, "0.3", false)).toThrow(refused);
    for (const method of OLD) {
      expect(() => dialectOf(method, {}, "0.3", false)).toThrow(refused);
      expect(() => dialectOf(method, {}, null, false)).toThrow(refused);
      expect(() => dialectOf(method, {}, "1.0", false)).toThrow(expect.objectContaining({ fault: "method_not_found" }));
    }
    expect(() => dialectOf("SendMessage", { message: oldMessage() }, null, false)).toThrow(refused);
    for (const method of NEW) {
      const params = { taskId: "t", message: message() };
      expect(dialectOf(method, params, null, false)).toEqual(modern(method));
    }
  });

  it.each<["1.0" | "0.3" | null]>([["1.0"], ["0.3"], [null]])(
    "with a name nobody knows is refused, of %j",
    (version) => {
      for (const method of ["", "toString", "__proto__", "sendMessage", "tasks/list", "x".repeat(9_000)]) {
        expect(() => dialectOf(method, {}, version, true)).toThrow(
          expect.objectContaining({ fault: "method_not_found", message: expect.stringMatching(/^.{1,200}$/) }),
        );
      }
    },
  );

  it("always comes to a dialect that has the method, or to a fault", () => {
    const someMethod = fc.oneof(fc.constantFrom(...NEW, ...OLD), fc.string());
    const someParams = fc.oneof(
      fc.dictionary(fc.constantFrom("message", "taskId", "id", "pushNotificationConfig"), fc.jsonValue()),
      fc.record({ message: fc.record({ role: fc.jsonValue(), parts: fc.jsonValue() }) }),
    ) as fc.Arbitrary<JsonObject>;
    const someVersion = fc.constantFrom("1.0" as const, "0.3" as const, null);
    fc.assert(
      fc.property(someMethod, someParams, someVersion, fc.boolean(), (method, params, version, legacy) => {
        try {
          const dialect = dialectOf(method, params, version, legacy);
          expect(dialect.wire === "a2a/1.0" ? NEW : OLD).toContain(dialect.method);
          if (version === "1.0" || !legacy) expect(dialect.wire).toBe("a2a/1.0");
          if (version === "1.0") expect(dialect.method).toBe(method);
        } catch (thrown) {
          if (!(thrown instanceof A2aError)) throw thrown;
          expect(["method_not_found", "version_not_supported"]).toContain(thrown.fault);
        }
      }),
    );
  });
});
