/** Evaluations concurrent with training, in virtual time. Each scripted token is the step number of the weights that sampled it. */
import { type Evaluator, Pace, RunRecord, Tinker, type TinkerError } from "@effect-rl/core"
import { AdaptiveLimiter, ModelInput, type Weights } from "@effect-rl/core/backend"
import { Simulation } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import * as Schedules from "./schedule/Schedules.ts"
import * as Task from "./Task.ts"

const iterations = 8

const world: Schedules.World = {
  batches: Array.from({ length: iterations }, () => [{ seconds: 2 }, { seconds: 3 }]),
  trainSeconds: 1,
  publishSeconds: 0
}

const pace = Pace.async({ maxStepsOffPolicy: 1 })

/** An evaluator that samples before and after a delay and reports the weights' step numbers. */
const slow = (seconds: number): Evaluator.Evaluator<TinkerError.TinkerError> => ({
  name: "slow",
  evaluate: ({ sampler }: Weights.Weights) =>
    Effect.gen(function*() {
      const { client, step } = yield* sampler
      const prompt = ModelInput.fromTokens([0, 0, 0])
      const sample = Effect.map(
        client.sample({ prompt, params: { maxTokens: 1 } }),
        ({ sequences: [sequence] }) => sequence?.tokens[0] ?? NaN
      )
      const first = yield* sample
      const last = yield* Effect.delay(sample, 1000 * seconds)
      return { name: "slow", metrics: { "slow/step": step, "slow/first": first, "slow/last": last }, groups: [] }
    }).pipe(Effect.scoped)
})

const run = (evaluated: Evaluator.Evaluator<TinkerError.TinkerError>, evalEvery: number, of = pace) =>
  Schedules.run(world, of, { overrides: { run: { evalEvery, saveEvery: 2, evaluators: [evaluated] } } })

const paces = [["asynchronous", pace], ["streaming", Pace.streaming({ minibatches: 2 })]] as const

const updatedAt = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Updated).map(({ at }) => at)

/** The evaluation results without their times. */
const measured = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  RunRecord.current(records).filter(RunRecord.guards.Evaluated).map(({ iteration, metrics, step }) => {
    const { "slow/first": first, "slow/last": last, "slow/step": said } = metrics
    return { iteration, step, said, first, last }
  })

const expected = [0, 4, 8].map((step) => ({ iteration: step, step, said: step, first: step, last: step }))

describe.each(paces)("an evaluation concurrent with %s training", (_, pace) => {
  it.live("measures the weights with which it began, while updates continue unaffected", () =>
    Effect.gen(function*() {
      const without = yield* run(slow(1), 0, pace)
      const { held, records, simulation } = yield* run(slow(7), 4, pace)
      assert.deepStrictEqual(measured(records), expected)
      assert.deepStrictEqual(updatedAt(records), updatedAt(without.records))
      const during = records.findIndex(RunRecord.guards.Updated)
      assert.isBelow(during, records.findIndex(RunRecord.guards.Evaluated))
      assert.strictEqual(simulation.leakedFibers, 0)
      assert.deepStrictEqual(held, {})
    }))

  it.live("delays the next evaluation, so evaluations end in iteration order", () =>
    Effect.gen(function*() {
      const { records } = yield* run(slow(1000), 4, pace)
      assert.deepStrictEqual(measured(records), expected)
    }))
})

describe("an evaluation concurrent with training", () => {
  it.live("reports where its weights were saved", () =>
    Effect.gen(function*() {
      const { records } = yield* run(slow(7), 4)
      const [before, between, last] = records.filter(RunRecord.guards.Evaluating)
      assert.isDefined(before?.weights)
      assert.isDefined(between?.weights)
      assert.notStrictEqual(before.weights, between.weights)
      assert.notProperty(last, "weights")
    }))

  it.live("requests exactly the weights saved for it if the backend knows their digest", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const withDigests = Effect.map(Tinker.Tinker, (tinker) =>
        Tinker.Tinker.of({
          ...tinker,
          createLoraTrainingClient: (options) =>
            Effect.map(tinker.createLoraTrainingClient(options), (client) => ({
              ...client,
              saveWeightsForSampler: (name, options) =>
                Effect.map(client.saveWeightsForSampler(name, options), (pending) => ({
                  ...pending,
                  await: Effect.map(pending.await, (saved) => ({ ...saved, digest: `of ${saved.path}` }))
                }))
            })),
          createSamplingClient: (from) => {
            asked.push(from)
            return tinker.createSamplingClient(from)
          }
        }))
      const overrides = { run: { evalEvery: 4, saveEvery: 0, evaluators: [slow(7)] } }
      const records = yield* Schedules.training(world, pace, { overrides }, Schedules.unseen()).pipe(
        Effect.provideServiceEffect(Tinker.Tinker, withDigests),
        (training) => Simulation.run(0, training, { deadline: "30 days" }),
        Effect.andThen(Task.records),
        Effect.provide(Schedules.backend(world, Schedules.unseen()), { local: true })
      )
      const weights = records.filter(RunRecord.guards.Evaluating).flatMap(({ weights }) => weights ?? [])
      assert.lengthOf(weights, 2)
      for (const modelPath of weights) assert.deepInclude(asked, { modelPath, digest: `of ${modelPath}` })
      assert.deepStrictEqual(
        records.filter(RunRecord.guards.Evaluating).flatMap(({ weightsDigest }) => weightsDigest ?? []),
        weights.map((path) => `of ${path}`)
      )
    }))

  it.live("blocks synchronous training, which saves no weights for it", () =>
    Effect.gen(function*() {
      const { records } = yield* run(slow(7), 4, Pace.synchronous)
      assert.deepStrictEqual(measured(records), expected)
      const [first] = records.filter(RunRecord.guards.Evaluating)
      assert.notProperty(first, "weights")
      assert.isBelow(
        records.findIndex(RunRecord.guards.Evaluated),
        records.findIndex(RunRecord.guards.Updated)
      )
    }))

  it.live("is repeated with the same result if the run was killed or interrupted", () =>
    Effect.gen(function*() {
      const takenUp = new Set<number>()
      for (let seed = 0; seed < 16; seed++) {
        const seen = Schedules.unseen()
        const overrides = { run: { evalEvery: 4, saveEvery: 2, evaluators: [slow(9)] } }
        const training = Schedules.training(world, pace, { overrides }, seen)
        const ended = seed % 2 === 0 ? { crashAfter: 10 + 10 * seed } : { interruptAfter: 10 + 10 * seed }
        const again = Effect.gen(function*() {
          yield* Simulation.run(seed, training, { deadline: "30 days", ...ended })
          const { exit } = yield* Simulation.run(seed + 100, training, { deadline: "30 days" })
          assert.isTrue(Option.isSome(exit) && Exit.isSuccess(exit.value), String(exit))
          const records = yield* Task.records
          const resumed = records.slice(records.findLastIndex(RunRecord.guards.Opened))
          const begun = resumed.filter(RunRecord.guards.Evaluating).map(({ iteration }) => iteration)
          for (const { iteration } of resumed.filter(RunRecord.guards.Evaluated)) {
            if (!begun.includes(iteration)) takenUp.add(iteration)
          }
          return measured(records)
        })
        const found = yield* Effect.provide(again, Schedules.backend(world, seen), { local: true })
        assert.deepStrictEqual(found.toSorted((left, right) => left.step - right.step), expected, `seed ${seed}`)
      }
      assert.deepStrictEqual(takenUp, new Set([0, 4]))
    }))

  it.live("fails the run if it fails", () =>
    Effect.gen(function*() {
      const fails = { name: "slow", evaluate: () => Effect.delay(Effect.die("the evaluator is broken"), 2000) }
      const { records, simulation: { exit } } = yield* run(fails, 4)
      assert.isTrue(Option.isSome(exit) && Exit.isFailure(exit.value))
      assert.isTrue(records.some(RunRecord.guards.Failed))
      assert.isFalse(records.some(RunRecord.guards.Finished))
    }))

  it.live("is abandoned when the budget is used up, and the run ends with a checkpoint", () =>
    Effect.gen(function*() {
      const overrides = { run: { evalEvery: 4, saveEvery: 0, maxTokensTotal: 150, evaluators: [slow(1000)] } }
      const { held, records, simulation } = yield* Schedules.run(world, pace, { overrides })
      const end = records.at(-1)
      assert.deepInclude(end, { _tag: "Finished", reason: "max_tokens_total" })
      assert.isNotEmpty(records.filter(RunRecord.guards.Updated))
      assert.deepStrictEqual(measured(records), [])
      assert.isNotNull(end?._tag === "Finished" ? end.checkpoint : null)
      assert.strictEqual(simulation.leakedFibers, 0)
      assert.deepStrictEqual(held, {})
    }))
})

/** More concurrent requests than the limiter's initial permits. */
const crowd: Schedules.World = {
  batches: Array.from({ length: iterations }, () => Array.from({ length: 8 }, () => ({ seconds: 0, tokenSeconds: 1 }))),
  trainSeconds: 1,
  publishSeconds: 0
}

/** The group whose prompt the evaluation samples. Its requests are distinguishable from training until training reaches it. */
const last = crowd.batches.flat().length - 1

const requests = 120

const wide: Evaluator.Evaluator<TinkerError.TinkerError> = {
  name: "wide",
  evaluate: ({ sampler }: Weights.Weights) =>
    Effect.gen(function*() {
      const { client } = yield* sampler
      const prompt = ModelInput.fromTokens([last, 0, 0])
      const one = client.sample({ prompt, params: { maxTokens: 8 } })
      yield* Effect.all(Array.from({ length: requests }, () => one), { concurrency: "unbounded", discard: true })
      return { name: "wide", metrics: {}, groups: [] }
    }).pipe(Effect.scoped)
}

const besideRollouts = Schedules.run(crowd, pace, { overrides: { run: { evalEvery: 100, evaluators: [wide] } } })

/** The first evaluation's share of the requests sent before its last one. */
const shareOf = (sampled: Schedules.Seen["sampled"]) => {
  const isEvaluation = sampled.map(({ key, step }) => key === String(last) && step === 0)
  return requests / (isEvaluation.lastIndexOf(true) + 1 - isEvaluation.indexOf(true))
}

const updatesDuring = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const from = records.findIndex(RunRecord.guards.Evaluating)
  const to = records.findIndex(RunRecord.guards.Evaluated)
  return records.slice(from, to).filter(RunRecord.guards.Updated).length
}

describe("an evaluation and rollouts that wait for the same permits", () => {
  it.live("share them: both are served, and updates continue", () =>
    Effect.gen(function*() {
      const { records, seen } = yield* Effect.provide(besideRollouts, AdaptiveLimiter.layer)
      assert.isAbove(shareOf(seen.sampled), 0.5)
      assert.isBelow(shareOf(seen.sampled), 0.8)
      assert.isAtLeast(updatesDuring(records), 2)
    }))

  it.live("send all requests at once if there is no limiter", () =>
    Effect.gen(function*() {
      const { seen } = yield* besideRollouts
      assert.strictEqual(shareOf(seen.sampled), 1)
    }))
})
