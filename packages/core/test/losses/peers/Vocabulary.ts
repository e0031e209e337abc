/** Building blocks of other projects' losses: data, parameters under their names, ratios and bounds. */
import { LossExpression, LossTerm } from "@effect-rl/core/losses"

const { clamp, exp, minimum, mul, neg, sub } = LossTerm

export type PerToken = LossTerm.Term<"token", "number">
type PerSequence = LossTerm.Term<"sequence", "number">
export type Condition = LossTerm.Term<"token", "boolean">
export type Parameters = Readonly<Record<string, unknown>>

/** All extras of a recorded sequence. An expression reads those that it needs. */
const extras = {
  proximalLogprobs: "token",
  referenceLogprobs: "token",
  alpha: "token",
  weights: "token",
  ceWeights: "token",
  refKlWeights: "token",
  rlWeights: "token",
  score: "sequence"
} as const

export type Expression = LossExpression.LossExpression<typeof extras>
export type Example = LossExpression.Example<typeof extras>
export type Inputs = LossExpression.Inputs<typeof extras>

export const written = (body: (inputs: Inputs) => PerToken | PerSequence): Expression =>
  LossExpression.make("peer", { extras }, body)

/** A loss of the library, for data that have extras. */
export const ours = <X extends LossExpression.Extras>({ body, name }: LossExpression.LossExpression<X>): Expression =>
  LossExpression.make(name, { extras }, () => body)

export const isOurs = ({ name }: Expression): boolean => name !== "peer"

export const number = (parameters: Parameters, name: string, otherwise = NaN): number => {
  const value = parameters[name]
  return typeof value === "number" ? value : otherwise
}

export const text = (parameters: Parameters, name: string) => String(parameters[name])

export const record = (value: unknown): Parameters => typeof value === "object" && value !== null ? { ...value } : {}

export const has = (parameters: Parameters, name: string) => typeof parameters[name] === "number"

/** The limit of the log-ratio: verl and SkyRL limit it to ±20, most others do not. */
export const boundOf = (peer: string) => peer === "verl" || peer === "SkyRL" ? 20 : Infinity

export const difference = (bound: number, left: PerToken, right: PerToken): PerToken =>
  bound === Infinity ? sub(left, right) : clamp(sub(left, right), { low: -bound, high: bound })

export const clipped = (ratio: PerToken, advantages: PerToken, low: number, high: number): PerToken =>
  neg(minimum(mul(ratio, advantages), mul(clamp(ratio, { low, high }), advantages)))

export const ratioOf = (peer: string, { logprobs, samplerLogprobs }: Inputs) =>
  exp(difference(boundOf(peer), logprobs, samplerLogprobs))

/** Bounds on the ratio from the parameters, whose names differ between projects; 1 ± 0.2 by default. */
export const boundsOf = (parameters: Parameters): readonly [low: number, high: number] => {
  const low = ["clip_ratio_low", "eps_clip_low", "epsilon_low", "cispo_epsilon_low", "eps_clip", "pg_clip"]
    .map((name) => number(parameters, name)).find((value) => !Number.isNaN(value)) ?? 0.2
  const high = [
    "clip_ratio_high",
    "eps_clip_high",
    "eps_clip_higher",
    "epsilon_high",
    "cispo_epsilon_high",
    "eps_clip",
    "pg_clip"
  ].map((name) => number(parameters, name)).find((value) => !Number.isNaN(value)) ?? 0.2
  return [1 - low, 1 + high]
}
