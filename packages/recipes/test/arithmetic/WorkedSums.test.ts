import { Message } from "@effect-rl/core"
import { Boxed, WorkedSums } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

const texts = (conversation: ReadonlyArray<Message.Message>) => conversation.map(Message.text)

const boxedIn = ([, answer]: ReadonlyArray<Message.Message>) =>
  answer === undefined ? undefined : Option.getOrUndefined(Boxed.extract(Message.text(answer)))

describe("a worked sum", () => {
  it("is added column by column, with the answer in a box", () => {
    assert.deepStrictEqual(texts(WorkedSums.right([47, 28])), [
      "What is 47 + 28? Write your answer in \\boxed{} format.",
      "7+8=15,4+2+1=7 so \\boxed{75}"
    ])
  })

  it("is preferred to a wrong number, with or without worked steps", () => {
    for (const { chosen, rejected } of WorkedSums.preferences()) {
      assert.strictEqual(rejected[0]?.content, chosen[0]?.content)
      assert.notStrictEqual(boxedIn(rejected), boxedIn(chosen))
      assert.match(boxedIn(rejected) ?? "", /^\d+$/)
    }
    assert.include(texts(WorkedSums.wrong([47, 28])).at(1), `${WorkedSums.columns(47, 28)} so`)
    assert.match(texts(WorkedSums.wrong([46, 28])).at(1) ?? "", /^\\boxed\{\d+\}$/)
  })

  it("is not a training example if its pair is held out", () => {
    const questions = new Set(WorkedSums.examples().map((conversation) => texts(conversation)[0]))
    assert.isTrue(WorkedSums.heldOutExamples().every((conversation) => !questions.has(texts(conversation)[0])))
  })
})
