/**
 * The losses that can be selected by name on the command line, in configuration files and in the viewer. A single table lists each loss
 * with its options and constructor. Every recipe can select a loss from this table; the viewer shows the loss of each token if it depends
 * on that token only.
 *
 * @example
 * const loss = NamedLoss.make("dppo", { deltaLow: 0.1 })
 */
import * as Struct from "effect/Struct"
import * as LossExpression from "../losses/LossExpression.ts"
import * as PolicyLoss from "../losses/PolicyLoss.ts"
import type * as Loss from "../model/Loss.ts"
import * as Setting from "../settings/Setting.ts"
import * as Objective from "./Objective.ts"

/** A loss of the backend, an expression, or an `Objective`. */
export type NamedLoss = Loss.Loss<"PolicyTokens"> | LossExpression.LossExpression | Objective.Objective

/** The options of all losses together. */
export const options = {
  /** Lower bound on the importance ratio, for losses that have one. */
  clipLow: Setting.number({ above: 0, help: "Lower bound on the importance ratio, for losses that have one" }),
  /** Upper bound on the importance ratio, for losses that have one. */
  clipHigh: Setting.number({ above: 0, help: "Upper bound on the importance ratio, for losses that have one" }),
  /** Upper bound on ppo's loss where the advantage is negative, as a multiple of the advantage. */
  dualClip: Setting.number({
    above: 1,
    help: "Upper bound on ppo's loss where the advantage is negative, as a multiple of the advantage"
  }),
  /** Weight of dro's quadratic term (0.05 unless given). */
  beta: Setting.number({ above: 0, help: "Weight of dro's quadratic term (0.05 unless given)" }),
  /** How far dppo lets a probability fall (0.2 unless given). */
  deltaLow: Setting.number({ above: 0, help: "How far dppo lets a probability fall (0.2 unless given)" }),
  /** How far dppo lets a probability rise (0.2 unless given). */
  deltaHigh: Setting.number({ above: 0, help: "How far dppo lets a probability rise (0.2 unless given)" }),
  /** Weight of dppo's quadratic term (0.001 unless given). */
  tau: Setting.number({ least: 0, help: "Weight of dppo's quadratic term (0.001 unless given)" }),
  /** Drift above which opsm masks out a sequence with a negative advantage (0.05 unless given). */
  delta: Setting.number({
    above: 0,
    help: "Drift above which opsm masks out a sequence with a negative advantage (0.05 unless given)"
  }),
  /** Temperature of sapo's gate for tokens with a positive advantage (1 unless given). */
  tauPositive: Setting.number({
    above: 0,
    help: "Temperature of sapo's gate for tokens with a positive advantage (1 unless given)"
  }),
  /** Temperature of sapo's gate for the other tokens (1.05 unless given). */
  tauNegative: Setting.number({
    above: 0,
    help: "Temperature of sapo's gate for the other tokens (1.05 unless given)"
  }),
  /** Bound on gmpo's log-ratio (0.4 unless given). */
  epsilon: Setting.number({ above: 0, help: "Bound on gmpo's log-ratio (0.4 unless given)" }),
  /** Upper bound on the importance weight of tis (2 unless given). */
  weightCap: Setting.number({ above: 0, help: "Upper bound on the importance weight of tis (2 unless given)" }),
  /** Importance weight below which mis masks out a token (0 unless given). */
  weightLow: Setting.number({ least: 0, help: "Importance weight below which mis masks out a token (0 unless given)" }),
  /** Importance weight above which mis masks out a token (3 unless given). */
  weightHigh: Setting.number({
    above: 0,
    help: "Importance weight above which mis masks out a token (3 unless given)"
  }),
  /** Weight of ppo_with_observations' cross entropy (0.1 unless given). */
  observationWeight: Setting.number({
    least: 0,
    help: "Weight of ppo_with_observations' cross entropy (0.1 unless given)"
  })
}

type OptionName = keyof typeof options

/** The options that the caller set. */
export type Given = { readonly [K in OptionName]?: number }

interface Entry {
  readonly options: ReadonlyArray<OptionName>
  readonly make: (given: Given) => NamedLoss
}

const entry = <const N extends ReadonlyArray<OptionName>>(
  options: N,
  make: (given: Pick<Given, N[number]>) => NamedLoss
): Entry => ({ options, make })

const clip = ["clipLow", "clipHigh"] as const

/** Truncated importance sampling, with weights per token or per sequence. */
const tis = (level: PolicyLoss.Level) =>
  entry(
    [...clip, "weightCap"],
    ({ weightCap: cap, ...bounds }) =>
      Objective.proximal(PolicyLoss.truncated({ ...bounds, ...(cap === undefined ? {} : { cap }), level }))
  )

/** Masked importance sampling, with weights per token or per sequence. */
const mis = (level: PolicyLoss.Level) =>
  entry(
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
  importance_sampling: entry([], () => PolicyLoss.importanceSampling),
  ppo: entry([...clip, "dualClip"], PolicyLoss.ppo),
  cispo: entry(clip, PolicyLoss.cispo),
  dro: entry(["beta"], PolicyLoss.dro),
  gspo: entry(clip, PolicyLoss.gspo),
  dppo: entry(["deltaLow", "deltaHigh", "tau"], PolicyLoss.dppo),
  icepop: entry(clip, PolicyLoss.icePop),
  tis_token: tis("token"),
  tis_sequence: tis("sequence"),
  mis_token: mis("token"),
  mis_sequence: mis("sequence"),
  decoupled_ppo: entry(clip, Objective.decoupled),
  opsm: entry([...clip, "delta"], PolicyLoss.opsm),
  sapo: entry(["tauPositive", "tauNegative"], PolicyLoss.sapo),
  vespo: entry([], () => PolicyLoss.vespo()),
  topr: entry([], () => PolicyLoss.topr),
  topr_token: entry([], () => PolicyLoss.toprToken),
  gmpo: entry(["epsilon"], PolicyLoss.gmpo),
  ppo_with_observations: entry(
    [...clip, "observationWeight"],
    ({ observationWeight: weight, ...bounds }) =>
      Objective.withObservations({ ...bounds, ...(weight === undefined ? {} : { weight }) })
  )
}

/** The name of a loss in the table. */
export type Name = keyof typeof losses

/** The names of all losses, in the order of the help text. */
export const names: ReadonlyArray<Name> = Struct.keys(losses)

/** The names of the options that the loss accepts. */
export const optionsOf = (name: Name): ReadonlyArray<OptionName> => losses[name].options

/** Makes the loss from the given options. Options that the loss does not accept are ignored. */
export const make = (name: Name, given: Given = {}): NamedLoss => {
  const { make, options }: Entry = losses[name]
  return make(Struct.pick(given, options))
}

const isName = (name: string): name is Name => Object.hasOwn(losses, name)

/** Names under which the backend's own losses record their options. */
const wireNames: Partial<Record<OptionName, string>> = {
  clipLow: "clip_low_threshold",
  clipHigh: "clip_high_threshold"
}

const optionsIn = (name: Name, config: Readonly<Record<string, unknown>>): Given => {
  const given: { [K in OptionName]?: number } = {}
  for (const option of optionsOf(name)) {
    const value = config[option] ?? config[wireNames[option] ?? option]
    if (typeof value === "number") given[option] = value
  }
  return given
}

/** The options of a loss that differ from their defaults; empty for a loss that is not in the table. */
export const given = (loss: NamedLoss): Given => {
  const { config, name } = Objective.from(loss)
  if (!isName(name)) return {}
  const own = optionsIn(name, config)
  const usual = optionsIn(name, Objective.from(make(name)).config)
  return Struct.pick(own, Struct.keys(own).filter((option) => own[option] !== usual[option]))
}

/**
 * The expression of a recorded loss. Undefined if the name is not in the table, or if the loss of a token does not depend on that token
 * only.
 */
export const perToken = (
  name: string,
  config: Readonly<Record<string, unknown>>
): LossExpression.LossExpression | undefined => {
  if (!isName(name)) return undefined
  const loss = make(name, optionsIn(name, config))
  return "scope" in loss && LossExpression.isPerToken(loss) ? loss : undefined
}
