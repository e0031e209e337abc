import { Extraction } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import * as Vectors from "../fixtures/Vectors.ts"

/** Release 0.6.1 of the cookbook drops a full stop after the number; the recorded commit keeps it. */
const withoutStop = (answer: string | null) => answer?.replace(/\.+$/, "")

describe("Extraction", () => {
  it.each(Vectors.vectors)(
    "finds the same boxes, numbers and final answers as the cookbook: $id",
    ({ expect, input: { text } }) => {
      if (expect.eval !== undefined) assert.strictEqual(Extraction.firstBoxed(text) ?? null, expect.eval.value)
      if (expect.number !== undefined) assert.strictEqual(Extraction.number(text), expect.number.value)
      if (expect.answer !== undefined) {
        assert.strictEqual(withoutStop(Extraction.finalNumber(text)), withoutStop(expect.answer.value))
      }
    }
  )

  it.each([
    ["so \\boxed{c}", "C"],
    ["\\boxed{AB}. The answer is (d)", "D"],
    ["Answer: B", "B"],
    ["I think A, no, C.", "C"],
    [`C ${"x".repeat(400)}`, ""],
    ["ABC", ""]
  ])("%j chooses the letter %j", (response, letter) => {
    assert.strictEqual(Extraction.letter(response, "ABCD"), letter)
  })

  it("normalises short answers: no case, punctuation or articles", () => {
    assert.strictEqual(Extraction.normalAnswer(" The  Beatles! "), "beatles")
  })
})
