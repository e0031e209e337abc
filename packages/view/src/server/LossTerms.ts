/** The loss of a run token by token, from core's loss expressions. */
import { PolicyLoss } from "@effect-rl/core"
import { type LossExpression, LossGraph, LossGraphInterpreter } from "@effect-rl/core/losses"
import * as Result from "effect/Result"
import type * as Entry from "../story/Entry.ts"

type Config = Readonly<Record<string, unknown>>

const number = (config: Config, name: string) => {
  const value = config[name]
  return typeof value === "number" ? value : undefined
}

/** The numbers that are named, under the names of an expression's options. */
const options = <K extends string>(config: Config, names: Readonly<Record<K, string>>) => {
  const found: { [P in K]?: number } = {}
  for (const option in names) {
    const value = number(config, names[option])
    if (value !== undefined) found[option] = value
  }
  return found
}

const clip = { clipLow: "clip_low_threshold", clipHigh: "clip_high_threshold" } as const

/** Losses in which each token counts by itself, by the name that a run's identity records. */
const expressions: Readonly<Record<string, (config: Config) => LossExpression.LossExpression>> = {
  importance_sampling: () => PolicyLoss.importanceSampling,
  ppo: (config) => PolicyLoss.ppo(options(config, clip)),
  cispo: (config) => PolicyLoss.cispo(options(config, clip)),
  dro: (config) => PolicyLoss.dro(options(config, { beta: "beta" })),
  dppo: (config) => PolicyLoss.dppo(options(config, { deltaLow: "deltaLow", deltaHigh: "deltaHigh", tau: "tau" })),
  icepop: (config) => PolicyLoss.icePop(options(config, { clipLow: "clipLow", clipHigh: "clipHigh" })),
  sapo: (config) => PolicyLoss.sapo(options(config, { tauPositive: "tauPositive", tauNegative: "tauNegative" })),
  topr_token: () => PolicyLoss.toprToken
}

/** Losses that can be asked for in place of the run's own. */
export const names: ReadonlyArray<string> = Object.keys(expressions)

/** What a loss reads of a token. */
export interface Token {
  readonly sampler: number
  readonly trainer: number
  readonly advantage: number
}

const scalar = (value: number): LossGraph.Values => ({ data: [value], shape: [1] })

/** A token as a datum of its own. */
const datum = ({ advantage, sampler, trainer }: Token) => ({
  logprobs: scalar(trainer),
  sampler_logprobs: scalar(sampler),
  advantages: scalar(advantage),
  mask: scalar(1)
})

const finite = (value: number | undefined) => value !== undefined && Number.isFinite(value) ? value : null

/** A loss that can be looked at token by token. */
export type TokenLoss = (tokens: ReadonlyArray<Token>) => Entry.LossTerms

/** The loss of that name; undefined unless each of its tokens counts by itself. */
export const make = (name: string, config: Config): TokenLoss | undefined => {
  const expression = Object.hasOwn(expressions, name) ? expressions[name]?.(config) : undefined
  const compiled = expression === undefined ? undefined : Result.getOrUndefined(LossGraph.compile(expression.graph))
  return compiled === undefined ? undefined : (tokens) => {
    const terms = LossGraphInterpreter.evaluateAll(compiled, tokens.map(datum)).map(Result.getOrUndefined)
    const gradients = terms.map((term) => finite(term?.gradient[0]))
    return {
      name,
      ratios: tokens.map(({ sampler, trainer }) => finite(Math.exp(trainer - sampler))),
      values: terms.map((term) => finite(term?.loss)),
      gradients,
      clipped: tokens.map(({ advantage }, at) => advantage !== 0 && gradients[at] === 0)
    }
  }
}

/** The loss of the run, or the one that is named in its place. */
export const ofRun = (identity: Config, loss: string | undefined): TokenLoss | undefined => {
  const own = identity["loss"]
  const config = identity["loss_config"]
  const isOwn = loss === undefined || loss === own
  const known = isOwn && typeof config === "object" && config !== null ? { ...config } : {}
  return make(loss ?? (typeof own === "string" ? own : ""), known)
}
