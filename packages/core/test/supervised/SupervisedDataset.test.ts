import { Message, Supervised, SupervisedDataset } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Imitation from "./Imitation.ts"

const conversation = [
  Message.user("1 + 1"),
  Message.assistant("2"),
  Message.user("2 + 2"),
  Message.assistant("4")
]

/** The text of the targets with a nonzero weight. */
const trainedText = Effect.fnUntraced(function*(options: Partial<SupervisedDataset.ConversationsOptions>) {
  const model = yield* Task.model
  const dataset = SupervisedDataset.conversations([conversation], { model, batchSize: 1, ...options })
  const data = yield* dataset.batch(0, 0)
  return data.map(({ inputs: { targetTokens, weights } }) =>
    Task.tokenizer.decode(targetTokens.filter((_, t) => weights[t] !== 0))
  )
})

const order = Effect.fnUntraced(
  function*(options: Omit<SupervisedDataset.ConversationsOptions, "model">, seed: number) {
    const model = yield* Task.model
    const dataset = SupervisedDataset.conversations(Imitation.rows, { model, ...options })
    const first = ({ modelInput }: { readonly modelInput: { readonly chunks: ReadonlyArray<unknown> } }) =>
      JSON.stringify(modelInput.chunks)
    const all = yield* Effect.forEach(
      Array.from({ length: dataset.length }, (_, index) => index),
      (index) => Effect.map(dataset.batch(index, seed), (data) => data.map(first))
    )
    return all
  },
  Effect.provide(Task.layer())
)

describe("a dataset of conversations", () => {
  it.effect("trains on all assistant messages by default", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* trainedText({}), ["2<|im_end|>4<|im_end|>"])
      assert.deepStrictEqual(yield* trainedText({ trainOn: "last_assistant_message" }), ["4<|im_end|>"])
      assert.include((yield* trainedText({ trainOn: "all_user_and_system_messages" }))[0], "2 + 2")
    }).pipe(Effect.provide(Task.layer())))

  it.effect("weighs each token by 1 or each conversation by 1, depending on the reduction", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const weightOf = (reduction: "none" | "mean") =>
        SupervisedDataset.conversations([conversation], { model, batchSize: 1, reduction }).batch(0, 0).pipe(
          Effect.map(([datum]) => datum?.inputs.weights.reduce((sum, weight) => sum + weight, 0))
        )
      assert.strictEqual(yield* weightOf("none"), 4)
      assert.strictEqual(yield* weightOf("mean"), 1)
    }).pipe(Effect.provide(Task.layer())))

  it.effect("truncates at the maximum length", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* trainedText({ maxLength: 30 }), ["2<|im_end|>"])
    }).pipe(Effect.provide(Task.layer())))

  it.effect("visits each row once per epoch and shuffles each epoch by the seed", () =>
    Effect.gen(function*() {
      const inOrder = yield* order({ batchSize: 3 }, 0)
      assert.deepStrictEqual(inOrder.map((batch) => batch.length), [3, 3, 1])
      const shuffled = yield* order({ batchSize: 3, epochs: 2, shuffle: true }, 7)
      assert.deepStrictEqual(shuffled.map((batch) => batch.length), [3, 3, 1, 3, 3, 1])
      assert.deepStrictEqual(shuffled.slice(0, 3).flat().toSorted(), inOrder.flat().toSorted())
      assert.deepStrictEqual(shuffled.slice(3).flat().toSorted(), inOrder.flat().toSorted())
      assert.notDeepEqual(shuffled.slice(0, 3), shuffled.slice(3))
      assert.deepStrictEqual(yield* order({ batchSize: 3, epochs: 2, shuffle: true }, 7), shuffled)
      assert.notDeepEqual(yield* order({ batchSize: 3, epochs: 2, shuffle: true }, 8), shuffled)
      assert.deepStrictEqual((yield* order({ batchSize: 3, dropRemainder: true }, 0)).map(({ length }) => length), [
        3,
        3
      ])
    }))

  it.effect("names the conversation that cannot be used for training", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const rows = [conversation, [{ ...Message.user("1 + 1"), trainable: true }]]
      const dataset = SupervisedDataset.conversations(rows, { model, batchSize: 2 })
      const error = yield* Effect.flip(dataset.batch(0, 0))
      assert.include(error.message, "conversation 1")
    }).pipe(Effect.provide(Task.layer())))

  it.effect("refuses a batch size of 0", () =>
    Effect.gen(function*() {
      const model = yield* Task.model
      const dataset = SupervisedDataset.conversations([conversation], { model, batchSize: 0 })
      const error = yield* Effect.flip(Stream.runDrain(Supervised.run({ model, dataset })))
      assert.strictEqual(error.message, "batchSize is 0, expected a whole number of at least 1")
    }).pipe(Effect.provide(Task.layer())))
})
