import * as Untrusted from "@effect-rl/cli/terminal/Untrusted"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const unsafe = /[\p{Cc}\p{Cf}\u2028\u2029]/u

describe("Untrusted", () => {
  it("escapes characters that could move the cursor or reverse text", () => {
    assert.strictEqual(Untrusted.show("\u001b[2J"), "\\u{1b}[2J")
    assert.strictEqual(Untrusted.show("a\u202eb\u0007\r"), "a\\u{202e}b\\u{7}\\u{d}")
    assert.strictEqual(Untrusted.show("½ 日本 🙂"), "½ 日本 🙂")
  })

  it("keeps line breaks in showLines", () => {
    assert.strictEqual(Untrusted.showLines("a\n\u009b31mb"), "a\n\\u{9b}31mb")
  })

  it.prop("shows no control character", [Schema.String], ([text]) => {
    assert.notMatch(Untrusted.show(`${text}\u001b`), unsafe)
  })

  it.prop("writes JSON that decodes to the same value, without control characters", [Schema.String], ([text]) => {
    const value = { text: `${text}\u009b\u2028\u{e0001}` }
    const json = Untrusted.json(value)
    assert.notMatch(json, unsafe)
    assert.deepStrictEqual(JSON.parse(json), value)
  })
})
