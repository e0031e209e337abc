/** One run of the arithmetic recipe, measured on held-out problems before and after. */
import { ChatModel, Evaluator, GroupResult, Proportion, RunStore, Tinker, Train } from "@effect-rl/core"
import { BoxedAddition, type Recipe, Recipes } from "@effect-rl/recipes"
import { Clock, Effect, Option, Schema, Stream } from "effect"

export const steps = 25

type Config = Recipe.Task["config"]

/** Makes another run of the recipe's. */
export type Change = (config: Config) => Config

export interface Scores {
  /** Right answers at temperature 1. */
  readonly sampled: Proportion.Proportion
  /** Right answers with the most likely token each time. */
  readonly greedy: Proportion.Proportion
  /** Share of the sampled answers that hold a worked computation before the box. */
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
    String(trajectory.transitions.at(-1)?.logs["response"] ?? "")
  )

const proportion = ({ metrics, name }: Evaluator.Evaluation): Proportion.Proportion => ({
  value: metrics[`${name}/correct`] ?? NaN,
  low: metrics[`${name}/correct_low`] ?? NaN,
  high: metrics[`${name}/correct_high`] ?? NaN
})

const scores = (events: ReadonlyArray<Train.Event>, iteration: number): Scores => {
  const evaluations = events.flatMap((event) =>
    event._tag === "Evaluated" && event.iteration === iteration ? [event.evaluation] : []
  )
  const [sampled, greedy] = evaluations
  if (sampled === undefined || greedy === undefined) throw new Error(`iteration ${iteration} was not evaluated`)
  const texts = responses(sampled.groups)
  return {
    sampled: proportion(sampled),
    greedy: proportion(greedy),
    worked: texts.filter((text) => computation.test(text)).length / texts.length
  }
}

const settings = (seed: number) =>
  Schema.decodeUnknownEffect(Recipes.arithmetic.settings)({ seed, steps, evalEvery: steps })

const task = Effect.fnUntraced(function*(seed: number) {
  const decoded = yield* settings(seed)
  const model = yield* ChatModel.resolve(decoded.model)
  return { model, task: yield* Recipes.arithmetic.build(model, decoded), settings: decoded }
})

/** Trains with `seed` for 25 steps. */
export const run = Effect.fnUntraced(function*(seed: number, change: Change) {
  const { task: { config } } = yield* task(seed)
  const startedAt = yield* Clock.currentTimeMillis
  const events = yield* Train.run(change(config)).pipe(
    Stream.runCollect,
    Effect.provide(RunStore.RunStore.layerMemory, { local: true })
  )
  const outcome: Outcome = {
    seed,
    before: scores(events, 0),
    after: scores(events, steps),
    rewards: events.flatMap((event) => event._tag === "Iteration" ? [event.meanReward] : []),
    seconds: ((yield* Clock.currentTimeMillis) - startedAt) / 1000
  }
  return outcome
})

/** Of the base model: the share of right answers, and of problems that at least one of eight attempts gets right. */
export const base = Effect.gen(function*() {
  const { model, settings } = yield* task(0)
  const sampler = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
  const { groups } = yield* Evaluator.testSet({
    name: "base",
    groups: BoxedAddition.heldOut(model).map((builder) => ({ ...builder, size: 8 })),
    maxTokens: settings.maxTokens
  }).evaluate(sampler)
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
