/**
 * Hop sampling: an episode goes on with newer weights at its next turn, or after every so many tokens of a turn, where newer weights
 * are there by then. Each token says which weights sampled it.
 *
 * With weights that do not change, turns are those of `Policy.fromSamplingClient`. A turn in several requests is so too where the
 * backend draws one `Seed.uniform` for each token, as the engine does; elsewhere its tokens are other ones of the same distribution.
 *
 * @example
 * Rl.run({ model, dataset, pace: Pace.async({ maxStepsOffPolicy: 3, hop: true, hopTokens: 256 }) })
 *
 * @see PipelineRL, arXiv:2509.19128
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Sampler } from "../backend/Weights.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as Seed from "../record/Seed.ts"
import * as Policy from "./Policy.ts"

export interface Options {
  /** Tokens of a turn after which it goes on with the newest weights; unless given, a turn keeps its weights. */
  readonly every?: number | undefined
  /** Finds stops that are texts where they lie across two requests. */
  readonly tokenizer: Pick<Tokenizer, "decode">
}

const nothing: Sampling.SampledTokens & Required<Pick<Sampling.SampledTokens, "weights">> = {
  tokens: new Int32Array(0),
  logprobs: new Float32Array(0),
  stopReason: "length",
  weights: []
}

type Turn = typeof nothing

const concat = <A extends Int32Array | Float32Array>(joined: A, left: A, right: A): A => {
  joined.set(left)
  joined.set(right, left.length)
  return joined
}

const join = (turn: Turn, { logprobs, sequenceId, stopReason, tokens }: Sampling.SampledTokens, step: number): Turn => {
  const span = { step, length: tokens.length, ...(sequenceId === undefined ? {} : { sequenceId }) }
  const length = turn.tokens.length + tokens.length
  return {
    tokens: concat(new Int32Array(length), turn.tokens, tokens),
    logprobs: concat(new Float32Array(length), turn.logprobs, logprobs),
    stopReason,
    weights: [...turn.weights, span]
  }
}

/** Most tokens of a character of a text: one for each byte. */
const tokensPerCharacter = 3

/** A sequence up to a stop that began in the tokens `before` it, which its request could not know. */
const cutAtStop = (
  before: Int32Array,
  sequence: Sampling.SampledTokens,
  stop: Sampling.Stop,
  { decode }: Options["tokenizer"]
): Sampling.SampledTokens => {
  const texts = Array.from<string | number>(stop).filter((end) => typeof end === "string")
  if (before.length === 0 || texts.length === 0) return sequence
  const longest = tokensPerCharacter * Math.max(...texts.map(({ length }) => length))
  const tail = before.subarray(-longest)
  for (let length = 1; length <= Math.min(longest, sequence.tokens.length); length++) {
    const text = decode([...tail, ...sequence.tokens.subarray(0, length)])
    if (texts.some((end) => text.includes(end))) {
      const [tokens, logprobs] = [sequence.tokens.slice(0, length), sequence.logprobs.slice(0, length)]
      return { ...sequence, tokens, logprobs, stopReason: "stop" }
    }
  }
  return sequence
}

/** Samples with the weights that are the newest when a turn begins, and again after every so many of its tokens. */
export const policy = (
  newest: Effect.Effect<Sampler, TinkerError, Scope.Scope>,
  sampling: Policy.SamplingOptions,
  { every = Infinity, tokenizer }: Options
): Policy.Policy<TinkerError> => {
  const sample = Policy.sampler(sampling)
  return {
    act: Effect.fnUntraced(function*(request) {
      const { key, prompt, stop } = request
      const most = Policy.turnTokens(sampling, request)
      const seed = Seed.turn(sampling.seed, key)
      let turn = nothing
      while (true) {
        const { tokens } = turn
        const maxTokens = Math.min(every, most - tokens.length)
        const asked = {
          prompt: ModelInput.append(prompt, tokens),
          stop,
          maxTokens,
          seed: Seed.after(seed, tokens.length)
        }
        const { sequence, step } = yield* Effect.scoped(
          Effect.flatMap(
            newest,
            ({ client, step }) => Effect.map(sample(client, asked), (sequence) => ({ sequence, step }))
          )
        )
        turn = join(turn, cutAtStop(tokens, sequence, stop, tokenizer), step)
        if (turn.stopReason === "stop" || sequence.tokens.length < maxTokens || turn.tokens.length >= most) return turn
      }
    })
  }
}
