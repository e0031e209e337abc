/** Figures of what reinforcement learning on sums is held to beside the reward: short answers, or a policy near the base model. */
import { Effect } from "effect"
import * as Report from "../../Report.ts"
import type * as Kept from "../Kept.ts"
import * as Sums from "../Sums.ts"

const metric = (name: string) => ({ metrics }: Sums.Outcome["updates"][number]) => metrics[name] ?? NaN

const outcomeOf = (name: string) => ({ correct, updates }: Sums.Outcome): Kept.Outcome => {
  const curve = updates.map(metric(name))
  return {
    curve,
    after: { value: Report.mean(curve.slice(-3)) },
    besides: { "right answers": correct / Sums.problems }
  }
}

/** A run with these settings, beside one that is not held. */
const row = (title: string, name: string, settings: object, free: object) => ({
  title,
  measure: (seed: number) => Effect.map(Sums.trainOne(settings, seed), outcomeOf(name)),
  control: (seed: number) => Effect.map(Sums.trainOne(free, seed), outcomeOf(name))
})

const klPenalty = (coefficient: number) =>
  row(`coefficient ${coefficient}`, "kl_policy_base", { klCoefficient: coefficient }, { klCoefficient: 1e-12 })

export const kl = {
  name: "kl-penalty",
  title: "KL penalty",
  seeds: Sums.seeds,
  value: "KL from the base model by iteration, nats per token",
  score: "KL in the last three iterations",
  control: "coefficient 10⁻¹²",
  rows: [klPenalty(0.05), klPenalty(0.2), klPenalty(0.5)]
}

const tokens = "env/all/ac_tokens_per_turn"

export const length = {
  name: "length",
  title: "Rewards shaped by length",
  seeds: Sums.seeds,
  value: "tokens of an answer by iteration",
  score: "tokens in the last three iterations",
  control: "not shaped",
  rows: [
    row("overlong, 36 of 40 tokens", tokens, { overlongBuffer: 36 }, {}),
    row("lengthPenalty 0.5", tokens, { lengthPenalty: 0.5 }, {})
  ]
}
