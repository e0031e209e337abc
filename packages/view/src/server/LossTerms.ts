/** A run's loss per token, computed with core's loss expressions. */
import { type LossGraph, LossProgram, NamedLoss } from "@effect-rl/core/losses"
import * as Result from "effect/Result"
import type * as Entry from "../story/Entry.ts"

type Config = Readonly<Record<string, unknown>>

/** The inputs of a loss at one token. */
export interface Token {
  readonly sampler: number
  readonly trainer: number
  readonly advantage: number
}

const scalar = (value: number): LossGraph.Values => ({ data: [value], shape: [1] })

/** A datum that contains only this token. */
const datum = ({ advantage, sampler, trainer }: Token) => ({
  logprobs: scalar(trainer),
  sampler_logprobs: scalar(sampler),
  advantages: scalar(advantage),
  mask: scalar(1)
})

const finite = (value: number | undefined) => value !== undefined && Number.isFinite(value) ? value : null

/** Computes a loss per token. */
export type TokenLoss = (tokens: ReadonlyArray<Token>) => Entry.LossTerms

/** The named loss; undefined if its tokens cannot be computed independently of each other. */
export const make = (name: string, config: Config): TokenLoss | undefined => {
  const expression = NamedLoss.perToken(name, config)
  const compiled = expression === undefined ? undefined : Result.getOrUndefined(LossProgram.compile(expression.graph))
  return compiled === undefined ? undefined : (tokens) => {
    const terms = Result.getOrElse(LossProgram.evaluateAll(compiled, tokens.map(datum)), () => [])
    const gradients = tokens.map((_, at) => finite(terms[at]?.gradient[0]))
    return {
      name,
      ratios: tokens.map(({ sampler, trainer }) => finite(Math.exp(trainer - sampler))),
      values: tokens.map((_, at) => finite(terms[at]?.loss)),
      gradients,
      clipped: tokens.map(({ advantage }, at) => advantage !== 0 && gradients[at] === 0)
    }
  }
}

/** The run's loss, or the named loss instead. */
export const ofRun = (identity: Config, loss: string | undefined): TokenLoss | undefined => {
  const own = identity["loss"]
  const config = identity["loss_config"]
  const isOwn = loss === undefined || loss === own
  const known = isOwn && typeof config === "object" && config !== null ? { ...config } : {}
  return make(loss ?? (typeof own === "string" ? own : ""), known)
}
