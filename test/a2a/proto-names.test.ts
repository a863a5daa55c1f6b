import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonNames } from "../../src/a2a/proto-names";
import type { JsonObject } from "../../src/task/json";

describe("names of fields", () => {
  it("are those of JSON, whichever the client sent", () => {
    expect(
      jsonNames({
        task_id: "t",
        configuration: { history_length: 1, task_push_notification_config: { url: "u" } },
        message: { message_id: "m", parts: [{ media_type: "text/plain", text: "a_b" }] },
      }),
    ).toEqual({
      taskId: "t",
      configuration: { historyLength: 1, taskPushNotificationConfig: { url: "u" } },
      message: { messageId: "m", parts: [{ mediaType: "text/plain", text: "a_b" }] },
    });
  });

  it("leave alone what the caller made up itself", () => {
    const own = { metadata: { a_b: { c_d: 1 } }, message: { parts: [{ data: { e_f: [{ g_h: 2 }] } }] } };
    expect(jsonNames(own)).toEqual(own);
  });

  it("given both ways, the JSON name counts, in whatever order", () => {
    expect(jsonNames({ task_id: "proto", taskId: "json" })).toMatchObject({ taskId: "json" });
    expect(jsonNames({ taskId: "json", task_id: "proto" })).toMatchObject({ taskId: "json" });
  });

  it("change nothing of what is named so already", () => {
    const camel = fc.stringMatching(/^[a-z][a-zA-Z0-9]{0,8}$/);
    fc.assert(
      fc.property(fc.dictionary(camel, fc.jsonValue()), (params) => {
        const text = JSON.stringify(params);
        fc.pre(!/_[a-z]/.test(text) && !text.includes("__proto__"));
        expect(jsonNames(params as JsonObject)).toEqual(params);
      }),
    );
  });
});
