import { type Evaluator, Loss, Message, Preferences, SupervisedDataset, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, Weights } from "@effect-rl/core/backend"
import { NllEvaluator, PreferenceEvaluator } from "@effect-rl/core/evaluation"
import { Renderers } from "@effect-rl/core/renderers"
import { Call, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const tokenizer = TestTokenizer.characters
const tinker = ScriptedTinker.layer({ tokenizer })

const sums = Array.from({ length: 5 }, (_, a) => [Message.user(`${a} + 1`), Message.assistant(String(a + 1))])
const wrong = sums.map(([question = Message.user("")]) => [question, Message.assistant("no")])

/** The base model's weights, from a training client and from a sampling client. */
const bothWeights = Effect.gen(function*() {
  const backend = yield* Tinker.Tinker
  const training = yield* backend.createLoraTrainingClient({ baseModel: Script.defaultModel, loraRank: 1 })
  const sampling = Weights.fromSamplingClient(yield* backend.createSamplingClient({ baseModel: Script.defaultModel }))
  const trained: Weights.Weights = { sampler: sampling.sampler, training }
  return { sampling, trained }
})

const agree = Effect.fnUntraced(function*<E>(evaluator: Evaluator.Evaluator<E>) {
  const { sampling, trained } = yield* bothWeights
  const [found, expected] = [yield* evaluator.evaluate(sampling), yield* evaluator.evaluate(trained)]
  assert.isAbove(Object.keys(expected.metrics).length, 2)
  assert.sameMembers(Object.keys(found.metrics), Object.keys(expected.metrics))
  for (const [metric, value] of Object.entries(expected.metrics)) {
    assert.closeTo(found.metrics[metric] ?? NaN, value, 1e-5, metric)
  }
})

describe("Weights.fromSamplingClient", () => {
  it.effect("gives the held-out likelihood that a forward pass computes", () =>
    Effect.gen(function*() {
      const model = { renderer: yield* Renderers.byName("qwen3_instruct", tokenizer) }
      const dataset = SupervisedDataset.conversations(sums, { model, batchSize: 2 })
      yield* agree(NllEvaluator.make({ name: "held_out", dataset }))
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      assert.deepStrictEqual(calls.filter(({ _tag }) => _tag === "ComputeLogprobs").length, sums.length)
    }).pipe(Effect.provide(tinker)))

  it.effect("gives the preference margin that a forward pass computes", () =>
    Effect.gen(function*() {
      const model = { renderer: yield* Renderers.byName("qwen3_instruct", tokenizer) }
      const rows = sums.map((chosen, index) => ({ chosen, rejected: wrong[index] ?? [] }))
      const dataset = Preferences.pairs(rows, { model, batchSize: 2 })
      yield* agree(PreferenceEvaluator.make({ name: "held_out", dataset }))
    }).pipe(Effect.provide(tinker)))

  const input = ModelInput.fromTokens(Int32Array.of(1, 2, 3))
  const weights = Float32Array.of(0, 1, 1)
  const refused = Effect.fnUntraced(function*(forward: (weights: Weights.Weights) => Effect.Effect<unknown, unknown>) {
    const { sampling } = yield* bothWeights
    return String(yield* Effect.flip(forward(sampling)))
  }, Effect.provide(tinker))

  it.effect("refuses a target that is not the next token, unless it has no weight", () =>
    Effect.gen(function*() {
      const forward = (targets: Int32Array) => (weights_: Weights.Weights) =>
        weights_.training.forward([Datum.weightedTokens(input, { targetTokens: targets, weights })], Loss.crossEntropy)
      assert.include(
        yield* refused(forward(Int32Array.of(2, 9, 4))),
        "data[0].inputs.targetTokens[1] is 9, expected 3, the token after its position"
      )
      const { sampling } = yield* Effect.provide(bothWeights, tinker)
      const { metrics } = yield* Effect.flatMap(forward(Int32Array.of(9, 3, 4))(sampling), (pass) => pass.await)
      assert.isAbove(metrics["loss:sum"] ?? NaN, 0)
    }))

  it.effect("refuses losses other than cross entropy", () =>
    Effect.gen(function*() {
      const [one, zero] = [weights.map(() => 1), weights.map(() => 0)]
      const datum = Datum.policyTokens(input, {
        targetTokens: Int32Array.of(2, 3, 4),
        logprobs: zero,
        advantages: one,
        mask: one
      })
      const message = yield* refused(({ training }) => training.forward([datum], Loss.importanceSampling))
      assert.include(message, "other losses need a training client")
    }))
})
