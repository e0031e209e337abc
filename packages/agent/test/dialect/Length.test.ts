import * as Length from "@effect-rl/agent/dialect/Length"
import { assert, describe, it } from "@effect/vitest"

describe("the length of a body", () => {
  it("counts its names and texts, without images", () => {
    const image = { type: "image", data: "AAAA" }
    const body = {
      role: "user",
      content: ["Hello", { text: "there" }, image, { url: "data:image/png;base64,AAAA" }],
      n: 12
    }
    const names = ["role", "content", "text", "type", "data", "url", "n"]
    const texts = ["user", "Hello", "there", "image"]
    assert.strictEqual(Length.ofJson(body), [...names, ...texts].join("").length)
  })

  it("counts every text of the decoded body, but no image bytes", () => {
    const image = { type: "image", data: Uint8Array.of(1, 2) }
    const tool = { name: "search", parameters: { data: "a text of a schema" } }
    const asked = { messages: [{ role: "user", content: [image] }], tools: [tool] }
    const names = ["messages", "role", "content", "type", "data", "tools", "name", "parameters", "data"]
    const texts = ["user", "image", "search", "a text of a schema"]
    assert.strictEqual(Length.of(asked), [...names, ...texts].join("").length)
  })
})
