/** Figures of reinforcement learning on sums with a constraint beside the reward: short answers, or a policy close to the base model. */
import { Credit, Tinker } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { GroupResult, Signal } from "@effect-rl/core/program"
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

/** A run with these settings, and a control without the constraint. */
const row = (title: string, name: string, settings: object, free: object) => ({
  title,
  measure: (seed: number) => Effect.map(Sums.trainOne(settings, seed), outcomeOf(name)),
  control: (seed: number) => Effect.map(Sums.trainOne(free, seed), outcomeOf(name))
})

const divergence = "kl_policy_base"

type Penalty = (reference: SamplingClient.SamplingClient) => Sums.Change

/** A run whose credit includes a comparison with the base model. */
const compared = Effect.fnUntraced(function*(settings: object, seed: number, penalty: Penalty) {
  const reference = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: Sums.model }))
  return yield* Effect.map(Sums.trainOne(settings, seed, penalty(reference)), outcomeOf(divergence))
}, Effect.scoped)

/** Measures the divergence on all groups without a penalty. */
const measured: Penalty = (reference) => Credit.klPenalty({ reference, coefficient: 0 })

/** The penalty only on groups with different rewards, and the divergence on all groups. */
const onDifferent = (coefficient: number): Penalty => (reference) => (credit, seed) => {
  const penalized = Credit.klPenalty({ reference, coefficient })(credit)
  return measured(reference)({
    ...penalized,
    name: "kl_penalty_on_different",
    assign: Effect.fnUntraced(function*(results, memory, weights) {
      const isDifferent = (result: GroupResult.GroupResult) =>
        !GroupResult.isSkipped(result) && Signal.isInformative(result)
      const constant = yield* credit.assign(results.filter((result) => !isDifferent(result)), memory, weights)
      const different = yield* penalized.assign(results.filter(isDifferent), memory, weights)
      const byResult = new Map([...constant.groups, ...different.groups].map((group) => [group.result, group]))
      return { ...different, groups: results.flatMap((result) => byResult.get(result) ?? []) }
    })
  }, seed)
}

const klRow = (coefficient: number, settings: object, control: Penalty) => ({
  title: `coefficient ${coefficient}`,
  measure: (seed: number) =>
    Effect.map(Sums.trainOne({ ...settings, klCoefficient: coefficient }, seed), outcomeOf(divergence)),
  control: (seed: number) => compared(settings, seed, control)
})

const klPenalty = (coefficient: number) =>
  row(`coefficient ${coefficient}`, divergence, { klCoefficient: coefficient }, { klCoefficient: 1e-12 })

export const kl = {
  name: "kl-penalty",
  title: "KL penalty",
  seeds: Sums.seeds,
  value: "KL from the base model by iteration, nats per token",
  score: "KL in the last three iterations",
  control: "coefficient 10⁻¹²",
  rows: [klPenalty(0.05), klPenalty(0.2), klPenalty(0.5)]
}

export const klGroups = {
  seeds: Sums.seeds,
  value: kl.value,
  score: kl.score,
  name: "kl-penalty-groups",
  title: "KL penalty in 36 iterations, solved groups included",
  control: "on groups whose rewards differ alone",
  rows: [0.05, 0.2].map((coefficient) => klRow(coefficient, { iterations: 36 }, onDifferent(coefficient)))
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
