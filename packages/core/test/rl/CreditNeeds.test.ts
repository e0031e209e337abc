import {
  Advantage,
  Credit,
  EnvGroupBuilder,
  Loss,
  Pace,
  ProblemEnv,
  Rl,
  RLDataset,
  RunRecord,
  Tinker,
  TinkerError
} from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { Audit } from "@effect-rl/core/records"
import { Call, Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Task from "./Task.ts"

const run = <E>(credit: Credit.Credit<E>, pace = Pace.synchronous) =>
  Stream.unwrap(Effect.map(
    Task.options({ run: { iterations: 1 } }),
    (options) => Rl.run({ ...options, pace, update: { ...options.update, loss: Loss.ppo(), credit } })
  )).pipe(Stream.runCollect)

const calls = Call.CallLog.use(({ calls }) => calls).pipe(Effect.map((calls) => calls.map(({ _tag }) => _tag)))

const relative = Credit.groupRelative(Advantage.centered)

type Made = (client: SamplingClient.SamplingClient) => Credit.Credit<unknown>

const readers: ReadonlyArray<readonly [title: string, made: Made]> = [
  ["Credit.klPenalty", (reference) => Credit.klPenalty({ reference, coefficient: 0.5 })(relative)],
  ["Credit.distill", (teacher) => Credit.distill({ teacher })],
  [
    "Credit.distill below a length penalty",
    (teacher) => Credit.lengthPenalty({ actionTokens: 0.1 })(Credit.distill({ teacher }))
  ],
  ["Credit.distill below a quarantine", (teacher) => Audit.quarantine(Credit.distill({ teacher }))],
  ["Credit.distill of one tag", (teacher) => Credit.byTag({ problems: relative, taught: Credit.distill({ teacher }) })],
  [
    "Credit.distill below Credit.klPenalty",
    (teacher) => Credit.klPenalty({ reference: elsewhere, coefficient: 0.5 })(Credit.distill({ teacher }))
  ]
]

/** A client of another backend that reports no capabilities. */
const elsewhere: SamplingClient.SamplingClient = {
  modelPath: "elsewhere",
  sample: () => Effect.die(new Error("nothing is sampled from it")),
  computeLogprobs: ({ length }) => Effect.succeed(new Float32Array(length).fill(-1))
}

describe("on a backend without prompt log-probabilities", () => {
  const layer = Task.layer({
    sample: Task.answersHalf,
    models: { [Script.defaultModel]: { promptLogprobs: false, topkPromptLogprobs: 0 } }
  })

  it.effect.each(readers)("a run with %s is refused before sampling", ([, made]) =>
    Effect.gen(function*() {
      const client = yield* Tinker.Tinker.use((tinker) =>
        tinker.createSamplingClient({ baseModel: Script.defaultModel })
      )
      const error = yield* Effect.flip(run(made(client)))
      if (!(error instanceof TinkerError.TinkerError)) return assert.fail(String(error))
      assert.strictEqual(error.reason._tag, "Unsupported")
      assert.include(
        error.message,
        `needs the log-probabilities of prompts, which ${Script.defaultModel} does not give`
      )
      assert.deepStrictEqual(yield* calls, ["CreateSamplingClient"])
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.effect("a run works with a teacher on another backend that has them", () =>
    Effect.gen(function*() {
      yield* run(Credit.distill({ teacher: elsewhere }))
      assert.include(yield* calls, "OptimStep")
    }).pipe(Effect.provide(layer)))
})

const misspelled = { corect: 1, format: 0.1 }

const paces = [
  ["synchronous", Credit.batchRelative(Advantage.decoupled(misspelled)), Pace.synchronous],
  ["asynchronous", Credit.batchRelative(Advantage.decoupled(misspelled)), Pace.async({ maxStepsOffPolicy: 1 })],
  ["streaming", Credit.groupRelative(Advantage.decoupled(misspelled)), Pace.streaming({ minibatches: 2 })]
] as const

describe("a credit that compares metrics", () => {
  const layer = Task.layer({ sample: Task.answersHalf })

  it.effect.each(paces)("is refused before the first update for a metric that no attempt reports (%s)", (
    [, credit, pace]
  ) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(run(credit, pace))
      assert.strictEqual(
        error.message,
        "a metric that update.credit compares is corect, expected a metric that attempts of the first iteration " +
          "reported: did you mean \"correct\"? Choose from: correct, format"
      )
      assert.notInclude(yield* calls, "OptimStep")
    }).pipe(Effect.provide(layer)))

  it.effect("counts a metric that is missing after the first iteration as 0", () =>
    Effect.gen(function*() {
      const options = yield* Task.options()
      const credit = Credit.batchRelative(Advantage.decoupled({ correct: 1 }))
      const dataset = RLDataset.fromArray(Task.sums, {
        groupsPerBatch: 2,
        group: ([question, answer], index) =>
          EnvGroupBuilder.make({
            key: `sum/${index}`,
            size: 4,
            makeEnv: () =>
              Effect.sync(() => {
                const { step, ...env } = ProblemEnv.make({
                  model: options.model,
                  question,
                  referenceAnswer: answer,
                  checkAnswer: (text) => text.trim() === answer
                })
                const silent: typeof step = (action) =>
                  Effect.map(step(action), (step) => ({ _tag: "Done", reward: step.reward } as const))
                return { ...env, step: index < 2 ? step : silent }
              })
          })
      })
      const records = yield* Stream.runCollect(Rl.run({ ...options, dataset, update: { credit } }))
      const steps = records.filter(RunRecord.guards.Updated).map(({ updates }) => updates.length)
      assert.deepStrictEqual(steps, [1, 0])
    }).pipe(Effect.provide(layer)))

  it.effect("is accepted if all attempts were cut short before they could report", () =>
    Effect.gen(function*() {
      const records = yield* run(Credit.batchRelative(Advantage.decoupled({ steps: 1 })))
      assert.deepInclude(records.at(-1), { _tag: "Finished", reason: "completed" })
    }).pipe(Effect.provide(Task.layer({
      sample: Script.reply(Task.tokenizer, () => Script.text(Task.tokenizer, "0", { stopReason: "length" }))
    }))))
})

describe("a run with Advantage.passAtK", () => {
  const run = (k: number) =>
    Stream.unwrap(Effect.map(
      Task.options({ run: { iterations: 1 } }),
      (options) => Rl.run({ ...options, update: { credit: Credit.groupRelative(Advantage.passAtK(k)) } })
    )).pipe(Stream.runCollect)

  it.effect.each([1, 0, -1, 1.5, NaN])("refuses k = %s before sampling", (k) =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(run(k))
      assert.include(message, `update.credit.k is ${k}, expected a whole number of at least 2`)
      assert.deepStrictEqual(yield* Task.trace, [])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))

  it.effect("refuses a k above its group size in the first iteration", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(run(5))
      assert.include(message, "update.credit.k is 5, expected at most the 4 members of the group \"sum/0\"")
      assert.isNotEmpty(yield* run(4))
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})
