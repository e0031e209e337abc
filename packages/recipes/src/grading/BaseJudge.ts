/** The model that is trained, with the weights that it had before, as a judge by rubrics. */
import { type ChatModel, InvalidOption, MessagePolicy, Tinker, type TinkerError } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** Opens a judge. It answers with its most likely words. */
export type Open = Effect.Effect<
  MessagePolicy.MessagePolicy<TinkerError.TinkerError | Renderer.RendererError>,
  TinkerError.TinkerError,
  Scope.Scope
>

/** Most tokens of a judgement. */
const longestJudgement = 512

/** The judge for the rubric of the setting `judge`; an `InvalidOption` where no model samples. */
export const make = Effect.fnUntraced(
  function*(model: ChatModel.ChatModel, rubric: string): Effect.fn.Return<Open, InvalidOption.InvalidOption> {
    const backend = yield* Effect.serviceOption(Tinker.Tinker)
    if (Option.isNone(backend)) {
      return yield* new InvalidOption.InvalidOption({
        field: "judge",
        found: JSON.stringify(rubric),
        expected: "no judge where no model samples"
      })
    }
    const options = { model, maxTokens: longestJudgement, temperature: 0, seed: 0 }
    return Effect.map(
      backend.value.createSamplingClient({ baseModel: model.name }),
      (client) => MessagePolicy.fromSamplingClient(client, options)
    )
  }
)
