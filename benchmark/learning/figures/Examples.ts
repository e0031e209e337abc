/** Figures of training on examples: supervised training and preferences, as in the recipes. */
import { RunRecord } from "@effect-rl/core"
import { PairLoss } from "@effect-rl/core/program"
import { type Recipe, Recipes } from "@effect-rl/recipes"
import { Effect } from "effect"
import type * as Kept from "../Kept.ts"
import * as RecipeRun from "../RecipeRun.ts"
import * as Sums from "../Sums.ts"

/** The values of a metric in all evaluations that report it, in order. */
export const evaluated = (records: ReadonlyArray<RunRecord.RunRecord>, metric: string) =>
  records.filter(RunRecord.guards.Evaluated).flatMap(({ metrics }) => metrics[metric] ?? [])

const outcomeOf = (curve: string, score: string) => (records: ReadonlyArray<RunRecord.RunRecord>): Kept.Outcome => {
  const scores = evaluated(records, score)
  return {
    curve: records.filter(RunRecord.guards.Updated).map(({ metrics }) => metrics[curve] ?? NaN),
    before: { value: scores.at(0) ?? NaN },
    after: { value: scores.at(-1) ?? NaN },
    besides: { "right answers": evaluated(records, "held_out/correct").at(-1) ?? NaN }
  }
}

/** The unchanged recipe, and a control with a learning rate close to 0. */
const row = <E, R>(recipe: Recipe.Recipe<E, R>, curve: string, score: string) => ({
  title: recipe.name,
  measure: (seed: number) => Effect.map(RecipeRun.train(recipe, { seed }), outcomeOf(curve, score)),
  control: (seed: number) => Effect.map(RecipeRun.train(recipe, { seed, learningRate: 1e-12 }), outcomeOf(curve, score))
})

const figure = { seeds: Sums.seeds, control: "learning rate 10⁻¹²" }

export const supervised = {
  ...figure,
  name: "supervised",
  title: "Supervised training on worked sums",
  value: "NLL by iteration, nats per token",
  score: "NLL of held-out answers, nats per token",
  rows: [row(Recipes.supervised, "nll", "held_out_examples/nll")]
}

export const dpo = {
  ...figure,
  name: "dpo",
  title: "DPO on right and wrong sums",
  value: "margin by iteration, times β",
  score: "margin of held-out right over wrong answers, nats",
  rows: [row(Recipes.dpo, "dpo/margin", "held_out_preferences/margin")]
}

const relative = (loss: PairLoss.Name, learningRate: number) => {
  const outcome = outcomeOf("dpo/accuracy", "held_out_preferences/accuracy")
  const train = (seed: number, learningRate: number) =>
    Effect.map(RecipeRun.train(Recipes.dpo, { seed, loss, learningRate }), outcome)
  return {
    title: loss,
    measure: (seed: number) => train(seed, learningRate),
    control: (seed: number) => train(seed, 1e-12)
  }
}

/** The preference losses other than DPO's, all with the same learning rate. Losses with means over tokens have smaller gradients. */
export const preferenceLosses = {
  ...figure,
  name: "preference-losses",
  title: "Losses of preferences on right and wrong sums",
  value: "share of pairs whose chosen answer has the higher score, by iteration",
  score: "share of held-out pairs whose right answer is the likelier",
  rows: PairLoss.names.flatMap((name) => name === "sigmoid" ? [] : [relative(name, 3e-4)])
}
