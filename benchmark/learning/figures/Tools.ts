/** Figures of an agent that calls a tool: the reward, and how well it learns to predict the tool's answers. */
import { Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Recipes } from "@effect-rl/recipes"
import { Effect, Stream } from "effect"
import * as Controls from "../Controls.ts"
import type * as Kept from "../Kept.ts"
import * as RecipeRun from "../RecipeRun.ts"
import * as Sums from "../Sums.ts"

/** Number of trials in the recipe's evaluation. */
const trials = 256

const train = Effect.fnUntraced(function*(settings: object, seed: number, shuffled: boolean) {
  const { update, ...options } = yield* RecipeRun.options(Recipes.calculator, { ...settings, seed })
  const credit = shuffled ? Controls.shuffled(seed)(update.credit) : update.credit
  const records = yield* Stream.runCollect(Rl.run({ ...options, update: { ...update, credit } }))
  const [before, after] = records.filter(RunRecord.guards.Evaluated).flatMap(({ score }) => score ?? [])
  if (before === undefined || after === undefined) return yield* Effect.die("the calculator was not evaluated")
  const outcome: Kept.Outcome = {
    curve: records.filter(RunRecord.guards.Updated).map(({ reward }) => reward?.mean ?? NaN),
    before: { value: before.value, trials },
    after: { value: after.value, trials },
    besides: {}
  }
  return outcome
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const row = (title: string, settings: object) => ({
  title,
  measure: (seed: number) => train(settings, seed, false),
  control: (seed: number) => train(settings, seed, true)
})

export const figure = {
  name: "tools",
  title: "Calculations with a calculator as a tool",
  seeds: Sums.seeds,
  value: "reward by iteration",
  score: "right answers",
  control: "rewards shuffled in each group",
  rows: [
    row("ppo", { loss: "ppo" }),
    row("ppo_with_observations, weight 0.01", { loss: "ppo_with_observations", observationWeight: 0.01 }),
    row("ppo_with_observations, weight 0.1", { loss: "ppo_with_observations", observationWeight: 0.1 })
  ]
}
