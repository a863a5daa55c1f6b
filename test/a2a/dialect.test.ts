import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { methodOf, versionOf, wireOf } from "../../src/a2a/dialect";
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

describe("a request", () => {
  it("is read by a role that is text, and by no other", () => {
    const role = { toString: 1, valueOf: 1 };
    expect(methodOf("SendMessage", { message: { role } }, null, true)).toBe("message/send");
  });

  it("of who says 1.0 is of 1.0, whatever it holds", () => {
    for (const method of NEW) {
      for (const params of [{}, { message: oldMessage() }, { pushNotificationConfig: {} }]) {
        expect(methodOf(method, params, "1.0", true)).toEqual(method);
      }
    }
  });

  it.each<["0.3" | null]>([["0.3"], [null]])("with an old name is of 0.3, of who says %j", (version) => {
    for (const method of OLD) expect(methodOf(method, {}, version, true)).toEqual(method);
  });

  it.each<[string, string, JsonObject, string]>([
    ["old message", "SendMessage", { message: oldMessage() }, "message/send"],
    ["old role, plain parts", "SendMessage", { message: { role: "user", parts: [{ text: "x" }] } }, "message/send"],
    ["new message", "SendMessage", { message: message() }, "SendMessage"],
    [
      "new role, marked parts",
      "SendMessage",
      { message: message({ parts: [{ kind: "text", text: "x" }] }) },
      "SendMessage",
    ],
    ["agent's role", "SendStreamingMessage", { message: message({ role: "ROLE_AGENT" }) }, "SendStreamingMessage"],
    ["nothing", "SendMessage", {}, "message/send"],
    ["no message", "SendStreamingMessage", { message: "hi" }, "message/stream"],
    ["an id", "GetTask", { id: "t" }, "tasks/get"],
    ["an id", "CancelTask", { id: "t" }, "tasks/cancel"],
    ["an id", "SubscribeToTask", { id: "t" }, "tasks/resubscribe"],
    ["what 0.3 has not", "ListTasks", {}, "ListTasks"],
    [
      "a flat config",
      "CreateTaskPushNotificationConfig",
      { taskId: "t", url: "x" },
      "CreateTaskPushNotificationConfig",
    ],
    [
      "a config inside",
      "CreateTaskPushNotificationConfig",
      { taskId: "t", pushNotificationConfig: {} },
      "tasks/pushNotificationConfig/set",
    ],
    ["the new ids", "GetTaskPushNotificationConfig", { taskId: "t", id: "c" }, "GetTaskPushNotificationConfig"],
    [
      "the old ids",
      "DeleteTaskPushNotificationConfig",
      { id: "t", pushNotificationConfigId: "c" },
      "tasks/pushNotificationConfig/delete",
    ],
  ])("of who says nothing is read by its shape: %s in %s", (_, method, params, meant) => {
    expect(methodOf(method, params, null, true)).toBe(meant);
    expect(methodOf(method, params, "0.3", true)).toBe(meant);
  });

  it("is of 1.0 or refused where 0.3 is not spoken", () => {
    const refused = expect.objectContaining({ fault: "version_not_supported" });
    for (const method of NEW) expect(() => methodOf(method, { taskId: "t" }, "0.3", false)).toThrow(refused);
    for (const method of OLD) {
      expect(() => methodOf(method, {}, "0.3", false)).toThrow(refused);
      expect(() => methodOf(method, {}, null, false)).toThrow(refused);
      expect(() => methodOf(method, {}, "1.0", false)).toThrow(expect.objectContaining({ fault: "method_not_found" }));
    }
    expect(() => methodOf("SendMessage", { message: oldMessage() }, null, false)).toThrow(refused);
    for (const method of NEW) {
      const params = { taskId: "t", message: message() };
      expect(methodOf(method, params, null, false)).toEqual(method);
    }
  });

  it.each<["1.0" | "0.3" | null]>([["1.0"], ["0.3"], [null]])(
    "with a name nobody knows is refused, of %j",
    (version) => {
      for (const method of ["", "toString", "__proto__", "sendMessage", "tasks/list", "x".repeat(9_000)]) {
        expect(() => methodOf(method, {}, version, true)).toThrow(
          expect.objectContaining({ fault: "method_not_found", message: expect.stringMatching(/^.{1,200}$/) }),
        );
      }
    },
  );

  it("always comes to a method of a generation, or to a fault", () => {
    const someMethod = fc.oneof(fc.constantFrom(...NEW, ...OLD), fc.string());
    const someParams = fc.oneof(
      fc.dictionary(fc.constantFrom("message", "taskId", "id", "pushNotificationConfig"), fc.jsonValue()),
      fc.record({ message: fc.record({ role: fc.jsonValue(), parts: fc.jsonValue() }) }),
    ) as fc.Arbitrary<JsonObject>;
    const someVersion = fc.constantFrom("1.0" as const, "0.3" as const, null);
    fc.assert(
      fc.property(someMethod, someParams, someVersion, fc.boolean(), (method, params, version, legacy) => {
        try {
          const meant = methodOf(method, params, version, legacy);
          expect(wireOf(meant) === "a2a/1.0" ? NEW : OLD).toContain(meant);
          if (version === "1.0" || !legacy) expect(wireOf(meant)).toBe("a2a/1.0");
          if (version === "1.0") expect(meant).toBe(method);
        } catch (thrown) {
          if (!(thrown instanceof A2aError)) throw thrown;
          expect(["method_not_found", "version_not_supported"]).toContain(thrown.fault);
        }
      }),
    );
  });
});
