import { Suggestion } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"

describe("Suggestion", () => {
  const known = ["qwen3", "qwen3_5", "llama3", "role_colon"]

  it.each([
    ["qwen3-5", "qwen3_5"],
    ["Qwen3", "qwen3"],
    ["lama3", "llama3"],
    ["rolecolon", "role_colon"]
  ])("corrects %s to %s", (name, nearest) => {
    assert.strictEqual(Suggestion.nearest(name, known), nearest)
  })

  it("suggests nothing if no name is close", () => {
    assert.isUndefined(Suggestion.nearest("mistral", known))
    assert.isUndefined(Suggestion.nearest("", known))
    assert.isUndefined(Suggestion.nearest("qwen3", []))
  })

  it("lists the known names after the suggestion", () => {
    assert.strictEqual(Suggestion.describe("lama", ["llama3"]), "did you mean \"llama3\"? Choose from: llama3")
    assert.strictEqual(Suggestion.describe("x", known), "choose from: qwen3, qwen3_5, llama3, role_colon")
  })
})
