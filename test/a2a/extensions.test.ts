import { describe, expect, it } from "vitest";
import { asksRequests, INPUT_REQUESTS_URI } from "../../src/a2a/extensions";

describe("the extension for input requests", () => {
  it.each([
    ["A2A-Extensions", INPUT_REQUESTS_URI, true],
    ["a2a-extensions", `https://example.com/x , ${INPUT_REQUESTS_URI}`, true],
    ["X-A2A-Extensions", `${INPUT_REQUESTS_URI},https://example.com/x`, true],
    ["A2A-Extensions", `${INPUT_REQUESTS_URI}/more`, false],
    ["A2A-Extensions", "", false],
    ["Accept", INPUT_REQUESTS_URI, false],
  ])("is asked for by %s: %s: %s", (name, value, asks) => {
    expect(asksRequests(new Headers({ [name]: value }))).toBe(asks);
  });
});
