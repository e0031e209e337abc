/** A run of the arithmetic recipe, measured on held-out problems before and after training. */
import { ChatModel, Evaluator, Rl, RunRecord, RunStore, Tinker } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { Proportion } from "@effect-rl/core/evaluation"
import { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { Sums } from "@effect-rl/recipes"
import { Clock, Effect, Option, Stream } from "effect"
import type { Control } from "./Controls.ts"

export const iterations = 25

export interface Scores {
  /** Share of correct answers at temperature 1. */
  readonly sampled: Proportion.Proportion
  /** Share of correct answers with greedy sampling. */
  readonly greedy: Proportion.Proportion
  /** Share of the sampled answers with a worked computation before the box. */
  readonly worked: number
}

export interface Outcome {
  readonly seed: number
  readonly before: Scores
  readonly after: Scores
  /** Mean reward of each step. */
  readonly rewards: ReadonlyArray<number>
  readonly seconds: number
}

const computation = /\d\s*\+\s*\d.*=\s*\d[\s\S]*\\boxed\{/

const responses = (groups: ReadonlyArray<GroupResult.GroupResult>) =>
  groups.flatMap((group) => GroupResult.isSkipped(group) ? [] : GroupResult.survivors(group)).map(([, trajectory]) =>
    trajectory.transitions.at(-1)?.score?.answer ?? ""
  )

const maxTokens = 40

/** The groups that the evaluator `held_out` rolled out before an iteration. */
const answers = Effect.fnUntraced(function*(records: ReadonlyArray<RunRecord.RunRecord>, iteration: number) {
  const store = yield* RunStore.RunStore
  const groups = records.filter(RunRecord.guards.GroupRolledOut).filter((group) =>
    group.evaluator === "held_out" && group.iteration === iteration
  )
  return yield* Effect.forEach(groups, ({ payload }) =>
    payload === undefined
      ? Effect.die("a group without its payload")
      : Effect.flatMap(store.payload(payload), GroupPayload.decode))
})

const scores = Effect.fnUntraced(function*(records: ReadonlyArray<RunRecord.RunRecord>, iteration: number) {
  const [sampled, greedy] = records.filter(RunRecord.guards.Evaluated).filter((record) =>
    record.iteration === iteration
  )
  if (sampled?.score === undefined || greedy?.score === undefined) {
    return yield* Effect.die(`iteration ${iteration} was not evaluated`)
  }
  const texts = responses(yield* answers(records, iteration))
  const measured: Scores = {
    sampled: sampled.score,
    greedy: greedy.score,
    worked: texts.filter((text) => computation.test(text)).length / texts.length
  }
  return measured
})

/** The options of the arithmetic recipe's run, which a control may change. */
const options = (model: ChatModel.ChatModel, seed: number) => {
  const heldOut = { groups: Sums.heldOut(model), maxTokens }
  return {
    model,
    dataset: Sums.dataset(Sums.boxed, { model, batches: iterations, groupsPerBatch: 32, groupSize: 8 }),
    sampling: { maxTokens },
    update: { learningRate: 1e-3 },
    run: {
      seed,
      iterations,
      evalEvery: iterations,
      evaluators: [
        Evaluator.testSet({ ...heldOut, name: "held_out" }),
        Evaluator.testSet({ ...heldOut, name: "held_out_greedy", temperature: 0 })
      ]
    }
  }
}

const name = "effect-rl/tiny-128"

/** Trains for 25 iterations with `seed`, with the update that `control` changes, and measures before and after. */
export const run = Effect.fnUntraced(function*(seed: number, control: Control) {
  const model = yield* ChatModel.resolve(name)
  const startedAt = yield* Clock.currentTimeMillis
  const given = options(model, seed)
  const records = yield* Stream.runCollect(Rl.run({ ...given, update: { ...given.update, ...control(seed) } }))
  const outcome: Outcome = {
    seed,
    before: yield* scores(records, 0),
    after: yield* scores(records, iterations),
    rewards: records.flatMap((record) => record._tag === "Updated" ? [record.reward?.mean ?? NaN] : []),
    seconds: ((yield* Clock.currentTimeMillis) - startedAt) / 1000
  }
  return outcome
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

/** The base model's share of correct answers in eight attempts, and of problems that at least one of the eight attempts solves. */
export const base = Effect.gen(function*() {
  const model = yield* ChatModel.resolve(name)
  const sampler = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
  const { groups } = yield* Evaluator.testSet({
    name: "base",
    groups: Sums.heldOut(model).map((builder) => ({ ...builder, size: 8 })),
    maxTokens
  }).evaluate(Weights.fromSamplingClient(sampler))
  const hitsP = groups.flatMap((group) =>
    GroupResult.isSkipped(group)
      ? []
      : [group.members.filter((member) => Option.exists(member, ({ stepReward }) => stepReward > 0.5)).length]
  )
  const hits = hitsP.reduce((sum, count) => sum + count, 0)
  return {
    pass1: Proportion.wilson(hits, 8 * hitsP.length),
    pass8: Proportion.wilson(hitsP.filter((count) => count > 0).length, hitsP.length)
  }
}).pipe(Effect.scoped)
