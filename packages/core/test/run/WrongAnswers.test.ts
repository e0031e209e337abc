import { Rl, RunRecord, Tinker } from "@effect-rl/core"
import type { Sampling, TrainingClient } from "@effect-rl/core/backend"
import type { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Stream } from "effect"
import * as Task from "../rl/Task.ts"

const run = Stream.unwrap(Effect.map(Task.options({ run: { iterations: 1 } }), Rl.run))

type Output = TrainingClient.ForwardBackwardOutput

/** Changes the training clients of a backend. */
const training = (change: (client: TrainingClient.TrainingClient) => TrainingClient.TrainingClient) =>
  Layer.effect(
    Tinker.Tinker,
    Effect.map(Tinker.Tinker, (tinker) =>
      Tinker.Tinker.of({
        ...tinker,
        createLoraTrainingClient: (options) => Effect.map(tinker.createLoraTrainingClient(options), change)
      }))
  )

/** A backend whose sampled sequences or passes are changed. */
const layer = (
  { pass = (output) => output, sample = (sequences) => sequences }: {
    readonly sample?: (sequences: ReadonlyArray<Sampling.SampledTokens>) => ReadonlyArray<Sampling.SampledTokens>
    readonly pass?: (output: Output) => Output
  }
) => {
  const sampling: Script.SampleScript = (request, at) => {
    const answer = Task.answersHalf(request, at)
    return Effect.isEffect(answer) ? answer : { sequences: sample(answer.sequences) }
  }
  const wrong = (client: TrainingClient.TrainingClient): TrainingClient.TrainingClient => ({
    ...client,
    forwardBackward: (data, loss, options) =>
      Effect.map(client.forwardBackward(data, loss, options), (pending) => ({ await: Effect.map(pending.await, pass) }))
  })
  return Layer.provideMerge(training(wrong), Task.layer({ sample: sampling }))
}

const each = (change: (sequence: Sampling.SampledTokens) => Partial<Sampling.SampledTokens>) => ({
  sample: (sequences: ReadonlyArray<Sampling.SampledTokens>) =>
    sequences.map((sequence) => ({ ...sequence, ...change(sequence) }))
})

const logprobs = (change: (logprobs: Output["logprobs"]) => Output["logprobs"]) => ({
  pass: (output: Output) => ({ ...output, logprobs: change(output.logprobs) })
})

describe("a run fails at a wrong answer of its backend", () => {
  it.effect.each(
    [
      ["no sequence", { sample: () => [] }, "sample", "sequences has 0 values, expected 1"],
      [
        "a sequence too many",
        { sample: (sequences: ReadonlyArray<Sampling.SampledTokens>) => [...sequences, ...sequences] },
        "sample",
        "sequences has 2 values, expected 1"
      ],
      [
        "more tokens than requested",
        each(() => ({ tokens: new Int32Array(9), logprobs: new Float32Array(9) })),
        "sample",
        "sequences[0] has 9 tokens, expected at most 8"
      ],
      [
        "a token that cannot exist",
        each(({ tokens }) => ({ tokens: tokens.map(() => -1) })),
        "sample",
        "sequences[0].tokens[0] is -1, expected a token id from 0"
      ],
      [
        "a probability above 1",
        each(({ logprobs }) => ({ logprobs: logprobs.map(() => 0.5) })),
        "sample",
        "sequences[0].logprobs[0] is 0.5, expected at most 0"
      ],
      [
        "a datum too few",
        logprobs((all) => all.slice(1)),
        "forwardBackward",
        "logprobs has 7 arrays, expected one per datum (8)"
      ],
      [
        "a datum too many",
        logprobs((all) => [...all, ...all]),
        "forwardBackward",
        "logprobs has 16 arrays, expected one per datum (8)"
      ],
      [
        "a log-probability too few",
        logprobs((all) => all.map((one) => one.slice(1))),
        "forwardBackward",
        "logprobs[0] has 24 values, expected one per target (25)"
      ],
      [
        "a trained token without a log-probability",
        logprobs((all) => all.map((one) => one.map(() => NaN))),
        "forwardBackward",
        "logprobs[0][23] is NaN, expected a number of at most 0"
      ]
    ] as const
  )("%s", ([, wrong, operation, detail]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Stream.runDrain(run))
      assert.strictEqual(error.message, `${operation}: the backend's answer is wrong: ${detail}`)
      assert.deepInclude(error, { _tag: "TinkerError", isRetryable: false })
    }).pipe(Effect.provide(layer(wrong))))

  it.effect("a defect of the backend names the operation", () =>
    Effect.gen(function*() {
      const cause = yield* Effect.flip(Effect.sandbox(Stream.runDrain(run)))
      assert.include(Cause.pretty(cause), "Error: forwardBackward: my bug")
    }).pipe(Effect.provide(Layer.provideMerge(
      training((client) => ({ ...client, forwardBackward: () => Effect.die(new Error("my bug")) })),
      Task.layer({ sample: Task.answersHalf })
    ))))
})

describe("a run accepts", () => {
  const updated = Effect.gen(function*() {
    yield* Stream.runDrain(run)
    return (yield* Task.current(RunRecord.guards.Updated))[0]
  })

  it.effect("sampled log-probabilities that rounding pushed above 0", () =>
    Effect.gen(function*() {
      assert.isDefined(yield* updated)
    }).pipe(Effect.provide(layer(each(({ logprobs }) => ({ logprobs: logprobs.map(() => 5e-4) }))))))

  it.effect("NaN at positions that the loss does not read", () =>
    Effect.gen(function*() {
      assert.notProperty((yield* updated)?.metrics, "optim/missing_logprobs")
    }).pipe(Effect.provide(layer(logprobs((all) => all.map((one) => one.map((value, t) => t === 0 ? NaN : value)))))))

  it.effect("passes without a loss, and reports none", () =>
    Effect.gen(function*() {
      assert.notProperty((yield* updated)?.metrics, "loss:sum")
    }).pipe(Effect.provide(layer({ pass: ({ logprobs }) => ({ logprobs, metrics: {} }) }))))
})
