/** A sampling client played by a deck. */
import { TinkerError } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Call from "./Call.ts"
import type { Deck } from "./Deck.ts"

export interface Parts {
  readonly modelPath: string
  /** The name of the weights in recorded calls. */
  readonly weights: string
  readonly deck: Deck<SamplingClient.SamplingClient>
}

/** Creates a sampling client that is usable until the scope closes. */
export const make = Effect.fnUntraced(function*({ deck, modelPath, weights }: Parts) {
  let isClosed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
    })
  )
  const open = <A>(operation: string, answer: Effect.Effect<A, TinkerError.TinkerError>) =>
    Effect.suspend(() =>
      isClosed
        ? Effect.fail(
          new TinkerError.TinkerError({
            operation,
            reason: new TinkerError.Closed({ detail: "the scope of the sampling client closed" })
          })
        )
        : answer
    )
  const client: SamplingClient.SamplingClient = {
    modelPath,
    sample: (request) =>
      open("sample", Effect.suspend(() => deck.answer(Call.sample(weights, request), (live) => live.sample(request)))),
    computeLogprobs: (prompt) =>
      open(
        "computeLogprobs",
        Effect.suspend(() => deck.answer(Call.computeLogprobs(weights, prompt), (live) => live.computeLogprobs(prompt)))
      )
  }
  return client
})
