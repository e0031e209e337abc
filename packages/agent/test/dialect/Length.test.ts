import * as Length from "@effect-rl/agent/dialect/Length"
import { assert, describe, it } from "@effect/vitest"

describe("The length of a body", () => {
  it("is that of its names and texts, without images", () => {
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
})
