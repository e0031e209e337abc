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
import * as Seed from "../record/Seed.ts"
import * as PartialTurn from "./PartialTurn.ts"
import * as Policy from "./Policy.ts"
import * as SplitStop from "./SplitStop.ts"

export interface Options {
  /** Tokens of a turn after which it goes on with the newest weights; unless given, a turn keeps its weights. */
  readonly every?: number | undefined
  /** Finds stops that are texts where they lie across two requests. */
  readonly tokenizer: Pick<Tokenizer, "decode">
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
      let turn = PartialTurn.empty
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
        turn = PartialTurn.append(turn, SplitStop.cut(tokens, sequence, stop, tokenizer), step)
        if (turn.stopReason === "stop" || sequence.tokens.length < maxTokens || turn.tokens.length >= most) return turn
      }
    })
  }
}
