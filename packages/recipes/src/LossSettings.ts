/** The loss of a recipe: its name and the options that each loss has. */
import { type InvalidOption, Loss, PolicyLoss, type Rl, Setting } from "@effect-rl/core"
import { Objective } from "@effect-rl/core/losses"
import type * as Effect from "effect/Effect"
import * as OwnOptions from "./OwnOptions.ts"

type UpdateLoss = NonNullable<NonNullable<Rl.Options["update"]>["loss"]>

const options = {
  clipLow: Setting.number({ above: 0, help: "Lower bound on the importance ratio, of losses that have one" }),
  clipHigh: Setting.number({ above: 0, help: "Upper bound on the importance ratio, of losses that have one" }),
  dualClip: Setting.number({
    above: 1,
    help: "Upper bound on ppo's loss where the advantage is negative, as a multiple of the advantage"
  }),
  beta: Setting.number({ above: 0, help: "Weight of dro's quadratic term (0.05 unless given)" }),
  deltaLow: Setting.number({ above: 0, help: "How far dppo lets a probability fall (0.2 unless given)" }),
  deltaHigh: Setting.number({ above: 0, help: "How far dppo lets a probability rise (0.2 unless given)" }),
  tau: Setting.number({ least: 0, help: "Weight of dppo's quadratic term (0.001 unless given)" }),
  delta: Setting.number({
    above: 0,
    help: "Drift above which opsm masks out a sequence with a negative advantage (0.05 unless given)"
  }),
  tauPositive: Setting.number({
    above: 0,
    help: "Temperature of sapo's gate for tokens with a positive advantage (1 unless given)"
  }),
  tauNegative: Setting.number({
    above: 0,
    help: "Temperature of sapo's gate for the other tokens (1.05 unless given)"
  }),
  epsilon: Setting.number({ above: 0, help: "Bound on gmpo's log-ratio (0.4 unless given)" }),
  weightCap: Setting.number({ above: 0, help: "Upper bound on the importance weight of tis (2 unless given)" }),
  weightLow: Setting.number({ least: 0, help: "Importance weight below which mis masks out a token (0 unless given)" }),
  weightHigh: Setting.number({
    above: 0,
    help: "Importance weight above which mis masks out a token (3 unless given)"
  }),
  observationWeight: Setting.number({
    least: 0,
    help: "Weight of ppo_with_observations' cross entropy (0.1 unless given)"
  })
}

type Name = keyof typeof options

/** The options that were given. */
type Given = { readonly [K in Name]?: number }

interface Choice {
  readonly options: ReadonlyArray<Name>
  readonly make: (given: Given) => UpdateLoss
}

const choice = <const N extends ReadonlyArray<Name>>(
  options: N,
  make: (given: Pick<Given, N[number]>) => UpdateLoss
): Choice => ({ options, make })

const clip = ["clipLow", "clipHigh"] as const

/** Truncated importance sampling, with the weight of a token or of its sequence. */
const tis = (level: PolicyLoss.Level) =>
  choice(
    [...clip, "weightCap"],
    ({ weightCap: cap, ...bounds }) =>
      Objective.proximal(PolicyLoss.truncated({ ...bounds, ...(cap === undefined ? {} : { cap }), level }))
  )

/** Masked importance sampling, with the weight of a token or of its sequence. */
const mis = (level: PolicyLoss.Level) =>
  choice(
    [...clip, "weightLow", "weightHigh"],
    ({ weightHigh: high, weightLow: low, ...bounds }) =>
      Objective.proximal(PolicyLoss.masked({
        ...bounds,
        ...(low === undefined ? {} : { low }),
        ...(high === undefined ? {} : { high }),
        level
      }))
  )

const losses = {
  importance_sampling: choice([], () => Loss.importanceSampling),
  ppo: choice([...clip, "dualClip"], PolicyLoss.ppo),
  cispo: choice(clip, PolicyLoss.cispo),
  dro: choice(["beta"], PolicyLoss.dro),
  gspo: choice(clip, PolicyLoss.gspo),
  dppo: choice(["deltaLow", "deltaHigh", "tau"], PolicyLoss.dppo),
  icepop: choice(clip, PolicyLoss.icePop),
  tis_token: tis("token"),
  tis_sequence: tis("sequence"),
  mis_token: mis("token"),
  mis_sequence: mis("sequence"),
  decoupled_ppo: choice(clip, Objective.decoupled),
  opsm: choice([...clip, "delta"], PolicyLoss.opsm),
  sapo: choice(["tauPositive", "tauNegative"], PolicyLoss.sapo),
  vespo: choice([], () => PolicyLoss.vespo()),
  topr: choice([], () => PolicyLoss.topr),
  topr_token: choice([], () => PolicyLoss.toprToken),
  gmpo: choice(["epsilon"], PolicyLoss.gmpo),
  ppo_with_observations: choice(
    [...clip, "observationWeight"],
    ({ observationWeight: weight, ...bounds }) =>
      Objective.withObservations({ ...bounds, ...(weight === undefined ? {} : { weight }) })
  )
}

const names = [
  "importance_sampling",
  "ppo",
  "cispo",
  "dro",
  "gspo",
  "dppo",
  "icepop",
  "tis_token",
  "tis_sequence",
  "mis_token",
  "mis_sequence",
  "decoupled_ppo",
  "opsm",
  "sapo",
  "vespo",
  "topr",
  "topr_token",
  "gmpo",
  "ppo_with_observations"
] as const

export const fields = {
  loss: Setting.choice({
    choices: names,
    help: "The loss that is minimised: importance_sampling unless given, and to be given where groups are sampled ahead"
  }),
  ...options
}

interface Settings extends Given {
  readonly loss?: keyof typeof losses
}

/** Fails with the first option that the loss does not have. */
export const check = (settings: Settings): Effect.Effect<void, InvalidOption.InvalidOption> => {
  const { loss = "importance_sampling" } = settings
  const own = losses[loss].options
  return OwnOptions.check(`the loss ${loss}`, settings, { options: Object.keys(options), own })
}

/** The loss, where one was chosen, with the options that were given. */
export const of = (settings: Settings): { readonly loss?: UpdateLoss } => {
  if (settings.loss === undefined) return {}
  const { make, options: own }: Choice = losses[settings.loss]
  return { loss: make(Object.fromEntries(OwnOptions.given(settings, own))) }
}
