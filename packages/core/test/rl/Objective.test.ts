import { Loss, PolicyLoss, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Datum, ModelInput, type TrainingClient } from "@effect-rl/core/backend"
import { LossExpression, LossTerm, Objective } from "@effect-rl/core/losses"
import type { TrainingData } from "@effect-rl/core/program"
import * as Pass from "@effect-rl/core/run/Pass"
import type { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Array, Context, Data, Effect, Stream } from "effect"
import * as Task from "./Task.ts"

type UpdateLoss = NonNullable<NonNullable<Rl.Options["update"]>["loss"]>

/** The records of one iteration with the given loss. */
const trained = (loss: UpdateLoss, substeps = 1) =>
  Stream.unwrap(Effect.map(
    Task.options({ update: { loss, substeps }, run: { iterations: 1 } }),
    (options) => Rl.run(options)
  )).pipe(Stream.runCollect)

const passes = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Updated).flatMap(({ updates }) =>
    updates.flatMap(({ passes }) => passes.map(({ datums, loss, route }) => ({ datums, loss, route })))
  )

const identity = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const opened = records.find(RunRecord.guards.Opened)?.identity
  return { loss: opened?.["loss"], loss_config: opened?.["loss_config"] }
}

const { exp, mul, neg, sub } = LossTerm

/** REINFORCE with a penalty on the distance from other log-probabilities. */
const anchored = LossExpression.make(
  "anchored",
  { extras: { anchor: "token" } },
  ({ advantages, anchor, logprobs }) => neg(mul(logprobs, sub(advantages, sub(logprobs, anchor))))
)

class Anchors extends Context.Service<Anchors, { readonly value: number }>()("test/Anchors") {}

class NoAnchors extends Data.TaggedError("NoAnchors")<{}> {}

const reinforce = (scale: number) =>
  LossExpression.make(
    "reinforce",
    { parameters: { scale } },
    ({ advantages, logprobs, samplerLogprobs }, { scale }) =>
      neg(mul(scale, exp(sub(logprobs, samplerLogprobs)), advantages))
  )

describe("Objective.reading", () => {
  const constant = (data: Parameters<Objective.Objective["passes"]>[0][number], value: number) =>
    Array.map(data, (datum) => ({
      ...datum,
      extras: { anchor: new Float32Array(datum.inputs.targetTokens.length).fill(value) }
    }))

  it.effect("reads a service of the run, and the weights before the update", () =>
    Effect.gen(function*() {
      const steps: Array<number> = []
      const loss = Objective.reading(anchored, (data, weights) =>
        Effect.gen(function*() {
          steps.push((yield* weights.sampler).step)
          return constant(data, (yield* Anchors).value)
        }))
      const options = yield* Task.options({ epochs: 1 })
      const records = yield* Stream.runCollect(Rl.run({ ...options, update: { learningRate: 1e-2, loss } }))
      assert.deepStrictEqual(steps, [0, 1])
      assert.deepStrictEqual(passes(records)[0], { datums: 8, loss: "anchored", route: "two-pass" })
    }).pipe(Effect.provideService(Anchors, { value: -1 }), Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("fails the run with its own error", () =>
    Effect.gen(function*() {
      const loss = Objective.reading(anchored, () => Effect.fail(new NoAnchors()))
      const options = yield* Task.options({ epochs: 1 })
      const error = yield* Effect.flip(Stream.runDrain(Rl.run({ ...options, update: { loss } })))
      assert.strictEqual(error._tag, "NoAnchors")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("Rl.run with a loss", () => {
  it.effect("requests a loss by name if the backend has it, even if it is given as an expression", () =>
    Effect.gen(function*() {
      for (const loss of [Loss.ppo({ clipHigh: 1.28 }), PolicyLoss.ppo({ clipHigh: 1.28 })]) {
        const records = yield* Effect.provide(trained(loss), Task.layer({ sample: Task.answersHalf }), { local: true })
        assert.deepStrictEqual(passes(records), [{ datums: 8, loss: "ppo", route: "name" }])
        assert.deepStrictEqual(identity(records), {
          loss: "ppo",
          loss_config: { clip_low_threshold: 0.8, clip_high_threshold: 1.28 }
        })
      }
    }))

  it.effect("computes an expression's gradient in two passes if the backend has no graphs", () =>
    Effect.gen(function*() {
      const records = yield* trained(reinforce(2))
      assert.deepStrictEqual(passes(records), [{ datums: 8, loss: "reinforce", route: "two-pass" }])
      assert.include(yield* Task.trace, "forward_backward_custom(8)")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("records an expression's parameters and formula in the run's identity", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(identity(yield* trained(reinforce(2))), {
        loss: "reinforce",
        loss_config: { scale: 2, formula: LossExpression.formula(reinforce(2)) }
      })
      const mismatch = yield* Effect.flip(trained(reinforce(3)))
      assert.include(mismatch.message, "loss_config")
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("accepts a function over all datums of an update", () =>
    Effect.gen(function*() {
      const sizes: Array<number> = []
      const mean = Objective.custom("mean", {}, (data) => (_, logprobs) =>
        Effect.sync(() => {
          sizes.push(data.length, logprobs.length)
          return {
            loss: 0.5,
            gradients: logprobs.map((logprobsT) => logprobsT.map(() => 1 / data.length)),
            metrics: { "mean/data": data.length }
          }
        }))
      const records = yield* trained(mean)
      assert.deepStrictEqual(passes(records), [{ datums: 8, loss: "mean", route: "two-pass" }])
      assert.deepStrictEqual(sizes, [8, 8])
      assert.strictEqual(records.find(RunRecord.guards.Updated)?.metrics["loss:sum"], 0.5)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("measures clipping only for losses that the backend has by name", () =>
    Effect.gen(function*() {
      const clipped = (loss: UpdateLoss) =>
        Effect.map(
          trained(loss),
          (records) => records.find(RunRecord.guards.Updated)?.metrics["optim/clipped_share"]
        ).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
      assert.strictEqual(yield* clipped(PolicyLoss.cispo()), 0)
      assert.isUndefined(yield* clipped(reinforce(1)))
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

const datum = (
  modelInput: ModelInput.ModelInput,
  logprobs: ReadonlyArray<number>,
  mask: ReadonlyArray<number>
): TrainingData.TrainingDatum => ({
  ...Datum.policyTokens(modelInput, {
    targetTokens: new Int32Array(modelInput.length),
    logprobs: Float32Array.from(logprobs),
    advantages: Float32Array.from(mask),
    mask: Float32Array.from(mask)
  }),
  origin: { iteration: 0, group: "g", member: 0, turns: [0, 1], segment: 0, samplerStep: 0 }
})

const observations = (data: Array.NonEmptyReadonlyArray<TrainingData.TrainingDatum>) =>
  Objective.observed(data).map(({ extras: { actionTokens, observationMask, observationTokens } }) => ({
    actionTokens,
    observationTokens,
    observationMask: Array.fromIterable(observationMask)
  }))

describe("Objective.withObservations", () => {
  it("imitates only the environment's answers: no prompt, action or image", () => {
    const image: ModelInput.Chunk = {
      _tag: "Image",
      data: new Uint8Array(1),
      format: "png",
      expectedTokens: 2
    }
    const withImage = ModelInput.fromChunks([
      { _tag: "EncodedText", tokens: Int32Array.of(1, 2, 3) },
      image,
      { _tag: "EncodedText", tokens: Int32Array.of(4, 5) }
    ])
    // Targets: prompt, action, image, image, answer, action, answer. The other member's datum has an untrained turn.
    const data = [
      datum(withImage, [0, -1, 0, 0, 0, -1, 0], [0, 1, 0, 0, 0, 1, 0]),
      datum(ModelInput.fromTokens([1, 2, 3, 4]), [-1, -2, 0, -1], [0, 0, 0, 1])
    ] as const
    assert.deepStrictEqual(observations(data), [
      { actionTokens: 3, observationTokens: 3, observationMask: [0, 0, 0, 0, 1, 0, 1] },
      { actionTokens: 3, observationTokens: 3, observationMask: [0, 0, 1, 0] }
    ])
  })

  it.effect("trains a run in two passes, with its weight in the run's identity", () =>
    Effect.gen(function*() {
      const records = yield* trained(Objective.withObservations({ weight: 0.05 }))
      assert.deepStrictEqual(passes(records), [{ datums: 8, loss: "ppo_with_observations", route: "two-pass" }])
      assert.deepInclude(identity(records).loss_config, { weight: 0.05 })
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("Objective.custom", () => {
  it("is not an expression, and does not compile where an expression is expected", () => {
    const across = Objective.custom(
      "mean",
      {},
      (data) => () => Effect.succeed({ loss: 0, gradients: data.map(() => new Float32Array()) })
    )
    const submit = (client: TrainingClient.TrainingClient, data: readonly [TrainingData.TrainingDatum]) =>
      // @ts-expect-error A loss across datums has no graph.
      Pass.submit(client, data, across)
    assert.isFunction(submit)
    // @ts-expect-error An expression with extras needs an objective that computes them.
    const update: NonNullable<Rl.Options["update"]> = { loss: PolicyLoss.truncated() }
    assert.property(update.loss, "graph")
    assert.notProperty(across, "graph")
  })
})

/** Log-probabilities of −1 at every target, decreasing by 1 with each optimizer step. */
const falling: Script.Script = {
  sample: Task.answersHalf,
  forwardBackward: ({ data }, { step }) => ({
    logprobs: data.map(({ inputs }) => new Float32Array(inputs.targetTokens.length).fill(-1 - step)),
    metrics: {}
  })
}

describe("Objective.proximal", () => {
  const product = LossExpression.make(
    "product",
    { extras: { proximalLogprobs: "token" } },
    ({ logprobs, proximalLogprobs }) => mul(logprobs, proximalLogprobs)
  )

  it.effect("reads the weights from before the iteration's first update", () =>
    Effect.gen(function*() {
      const records = yield* trained(Objective.proximal(product), 2)
      const actions = records.find(RunRecord.guards.Updated)?.metrics["env/all/total_ac_tokens"] ?? NaN
      const losses = records.filter(RunRecord.guards.Updated).flatMap(({ updates }) =>
        updates.flatMap(({ passes }) => passes.map(({ metrics }) => metrics["loss:sum"]))
      )
      assert.deepStrictEqual(losses, [actions / 2, 2 * actions / 2])
      assert.deepStrictEqual((yield* Task.trace).filter((call) => /^(forward|optim)/.test(call)), [
        "forward(4, importance_sampling)",
        "forward(4, importance_sampling)",
        "forward_backward_custom(4)",
        "optim_step(0.01)",
        "forward_backward_custom(4)",
        "optim_step(0.01)"
      ])
    }).pipe(Effect.provide(Task.layer(falling))))

  it.effect("pays for its forward pass at the price of prompts", () =>
    Effect.gen(function*() {
      const prefilled = (loss: UpdateLoss) =>
        Effect.map(
          trained(loss),
          (records) => records.find(RunRecord.guards.Updated)?.metrics["tokens/total_prefilled"] ?? NaN
        ).pipe(Effect.provide(RunStore.RunStore.layerMemory, { local: true }))
      const trainedOn = (yield* trained(Loss.ppo())).find(RunRecord.guards.Updated)?.metrics["tokens/total_trained"]
      const difference = (yield* prefilled(Objective.proximal(PolicyLoss.masked()))) - (yield* prefilled(Loss.ppo()))
      assert.strictEqual(difference, trainedOn)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

describe("Objective.decoupled", () => {
  /** Tokens are sampled at −0.5. The log-probability of wrong answers decreases by 1 with each optimizer step. */
  const correcting: Script.Script = {
    sample: Task.answersHalf,
    forwardBackward: ({ data }, { step }) => ({
      logprobs: data.map(({ inputs: { targetTokens } }) => {
        const isWrong = targetTokens.includes(Task.tokenizer.encode("0")[0] ?? NaN)
        return new Float32Array(targetTokens.length).fill(isWrong ? -1 - step : -0.5)
      }),
      metrics: {}
    })
  }

  it.effect("counts the optimizer steps of the iteration's earlier minibatches", () =>
    Effect.gen(function*() {
      const options = yield* Task.options({
        groupsPerBatch: 4,
        update: { loss: Objective.decoupled(), substeps: 4 },
        run: { iterations: 1 }
      })
      const records = yield* Stream.runCollect(Rl.run(options))
      const updated = records.find(RunRecord.guards.Updated)
      const losses = updated?.updates.flatMap(({ passes }) => passes.map(({ metrics }) => metrics["loss:sum"] ?? NaN))
      // Half of a minibatch's answers have advantage 0.5. The other half have −0.5, for which ratios below 0.8 are clipped.
      const sum = (updated?.metrics["env/all/total_ac_tokens"] ?? NaN) / 16
      const expected = [0, 0, 1 / 2, 2 / 3].map((alpha, step) => sum * (0.8 * Math.exp(alpha * (-0.5 - step)) - 1))
      assert.lengthOf(losses ?? [], 4)
      expected.forEach((loss, index) => assert.closeTo(losses?.[index] ?? NaN, loss, 1e-5))
    }).pipe(Effect.provide(Task.layer(correcting))))

  it("derives the proximal policy from the optimizer steps of the weights that sampled a token", () => {
    const told = datum(ModelInput.fromTokens([1, 2, 3, 4, 5]), [0, -1, -1, 0, -2], [0, 1, 1, 0, 1])
    const newer = { ...told, origin: { ...told.origin, samplerStep: 3 } }
    const both = { ...told, samplerSteps: Int32Array.of(-1, 2, 2, -1, 4) }
    const alphas = Objective.interpolated([told, newer, both], 4).map(({ extras: { alpha } }) =>
      Array.fromIterable(alpha)
    )
    assert.deepStrictEqual(alphas, [[0, 0.75, 0.75, 0, 0.75], [0, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0]])
  })

  it.effect("trains a run in two passes", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(passes(yield* trained(Objective.decoupled({ clipHigh: 1.28 }))), [
        { datums: 8, loss: "decoupled_ppo", route: "two-pass" }
      ])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
