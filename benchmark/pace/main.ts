/** Compares groups per virtual second of asynchronous and synchronous training when some answers take long. */
import {
  ChatModel,
  Evaluator,
  Loss,
  Pace,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RunRecord,
  RunStore,
  Tinker
} from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { Proportion } from "@effect-rl/core/evaluation"
import { Boxed, MathEnv, Sums } from "@effect-rl/recipes"
import { Clock, Effect, Option, Stream } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as LongTail from "./LongTail.ts"

const times: LongTail.Times = { median: 1000, tail: 20, step: 3000 }
const [iterations, groups, groupSize, maxTokens] = [25, 16, 8, 40]
const seeds = [0, 1, 2]
/** Number of held-out problems. */
const problems = 512

const paces = {
  synchronous: Pace.synchronous,
  "asynchronous, K = 3": Pace.async({ maxStepsOffPolicy: 3 }),
  "asynchronous, K = 1": Pace.async({ maxStepsOffPolicy: 1 })
}

interface Outcome {
  readonly groupsPerSecond: number
  /** Share of the time in which no answer is sampled. */
  readonly silent: number
  /** Mean number of concurrent answers, divided by the maximum. */
  readonly busy: number
  readonly heldOut: Proportion.Proportion
  readonly age: number
  readonly oldest: number
  readonly dropped: number
}

/** The time without sampling, and the maximum number of concurrent answers. */
const occupancy = (sampled: ReadonlyArray<LongTail.Sampled>) => {
  const changes = sampled.flatMap(({ from, until }) => [[from, 1], [until, -1]] as const)
    .toSorted(([left], [right]) => left - right)
  let [count, most, silent, last] = [0, 0, 0, 0]
  for (const [at, change] of changes) {
    if (count === 0) silent += at - last
    count += change
    most = Math.max(most, count)
    last = at
  }
  return { silent, most }
}

/** Sums with boxed answers, graded in this thread: a grader in another thread would take real time, not virtual time. */
const dataset = (model: ChatModel.ChatModel) => ({
  length: iterations,
  fingerprint: "boxed sums",
  batch: (index: number, seed: number) =>
    Effect.sync(() =>
      Sums.boxed.pairs(index, groups, seed).map(([a, b], group) =>
        ProblemGroupBuilder.make({
          key: `${group}/${a}+${b}`,
          size: groupSize,
          env: () =>
            ProblemEnv.make({
              model,
              question: MathEnv.question(`What is ${a} + ${b}?`),
              referenceAnswer: String(a + b),
              checkAnswer: (response) => Option.contains(Boxed.extract(response), String(a + b)),
              checkFormat: (response) => Option.isSome(Boxed.extract(response))
            })
        })
      )
    )
})

const train = Effect.fnUntraced(function*(pace: Pace.Pace, seed: number) {
  const time = LongTail.make(times)
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const { records, seconds } = yield* time.run(Effect.gen(function*() {
    const records = yield* Stream.runCollect(Rl.run({
      model,
      dataset: dataset(model),
      sampling: { maxTokens },
      update: { learningRate: 1e-3, loss: Loss.ppo() },
      run: { seed, iterations, evalEvery: 0, saveEvery: 0 },
      pace
    }))
    return { records, seconds: (yield* Clock.currentTimeMillis) / 1000 }
  }))
  return { records, seconds, sampled: time.sampled }
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const measured = Effect.fnUntraced(function*(name: string, pace: Pace.Pace, seed: number) {
  const { records, sampled, seconds } = yield* train(pace, seed)
  const model = yield* ChatModel.resolve("effect-rl/tiny-64")
  const modelPath = records.findLast(RunRecord.guards.Saved)?.samplerPath ?? ""
  const sampler = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath }))
  const { score } = yield* Evaluator.testSet({ name: "held_out", groups: Sums.heldOut(model), maxTokens })
    .evaluate(Weights.fromSamplingClient(sampler))
  const updates = records.filter(RunRecord.guards.Updated)
  const trained = records.filter(RunRecord.guards.Credited).flatMap((record) => record.groups)
  const { most, silent } = occupancy(sampled)
  const answering = sampled.reduce((sum, { from, until }) => sum + until - from, 0) / 1000
  const outcome: Outcome = {
    groupsPerSecond: trained.filter(({ verdict }) => verdict !== "stale").length / seconds,
    silent: silent / 1000 / seconds,
    busy: answering / seconds / most,
    heldOut: score ?? { value: NaN, low: NaN, high: NaN },
    age: Report.mean(updates.map(({ metrics }) => metrics["async/staleness_mean"] ?? 0)),
    oldest: Math.max(...updates.map(({ metrics }) => metrics["async/staleness_max"] ?? 0)),
    dropped: trained.filter(({ verdict }) => verdict === "stale").length
  }
  Report.progress(`${name}, seed ${seed}: ${JSON.stringify(outcome)}`)
  return outcome
}, Effect.scoped)

/** The correct answers of all seeds together. */
const pooled = (outcomes: ReadonlyArray<Outcome>) =>
  Proportion.wilson(
    outcomes.reduce((sum, { heldOut }) => sum + Math.round(heldOut.value * problems), 0),
    outcomes.length * problems
  )

const program = Effect.gen(function*() {
  const outcomes = yield* Effect.forEach(
    Object.entries(paces),
    ([name, pace]) =>
      Effect.map(Effect.forEach(seeds, (seed) => measured(name, pace, seed)), (outcomes) => ({ name, outcomes }))
  )
  const [synchronous, asynchronous] = outcomes.map(({ outcomes }) => outcomes)
  const ratios = (asynchronous ?? []).map(({ groupsPerSecond }, seed) =>
    groupsPerSecond / (synchronous?.[seed]?.groupsPerSecond ?? NaN)
  )
  const before = pooled(synchronous ?? [])
  const ahead = pooled(asynchronous ?? [])
  const dropped = outcomes.flatMap(({ outcomes }) => outcomes).reduce((sum, { dropped }) => sum + dropped, 0)
  const header = [
    "",
    "groups per s",
    "nothing sampled",
    "of the most at once",
    "mean age",
    "oldest",
    "right answers [95 %]",
    "dropped"
  ]
  Report.publish("pace", "Asynchronous training where some answers take long", [
    `Times are virtual, and do not depend on the machine: each answer takes a lognormal time with a median of ${
      times.median / 1000
    } s, and one in a hundred takes
more than ${times.tail * times.median / 1000} s; an optimizer step takes ${
      times.step / 1000
    } s. Sampling and training are real, on the engine: tiny-64 on sums, ${iterations} iterations of ${groups} groups × ${groupSize}
attempts, PPO, learning rate 1e-3. "Nothing sampled" is the share of the time without any answer in progress; "of the most at once" is the
mean number of answers in progress as a share of the maximum. "Right answers" is the share of correct answers to ${problems} held-out problems
after training, with Wilson's interval; a group's age is in iterations.`,
    Report.table(
      header,
      outcomes.flatMap(({ name, outcomes }) =>
        outcomes.map(({ age, busy, dropped, groupsPerSecond, heldOut, oldest, silent }, seed) => [
          `${name}, seed ${seeds[seed]}`,
          groupsPerSecond.toFixed(2),
          Report.percent(silent),
          Report.percent(busy),
          age.toFixed(2),
          String(oldest),
          Report.interval(heldOut),
          String(dropped)
        ])
      )
    ),
    [
      Report.aim(
        "groups per second with K = 3 over synchronous, lowest of the seeds",
        Math.min(...ratios),
        " times",
        "at least",
        1.8
      ),
      Report.aim("groups dropped for their age", dropped, "", "at most", 0),
      `- right answers of all seeds together: synchronous ${Report.interval(before)}, K = 3 ${
        ahead.value.toFixed(3)
      }, within that interval: **${ahead.value >= before.low && ahead.value <= before.high ? "yes" : "no"}**`
    ].join("\n")
  ])
})

OnEngine.runMain(program)
