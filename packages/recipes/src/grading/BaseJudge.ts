/** A rubric judge that uses the model in training, with the weights it had before training. */
import { type ChatModel, InvalidOption, MessagePolicy, Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Open } from "../OtherModel.ts"

/** The most tokens of a judgement. */
const longestJudgement = 512

/** The judge for the rubric in the setting `judge`. Fails with `InvalidOption` if no model can sample. */
export const make = Effect.fnUntraced(
  function*(model: ChatModel.ChatModel, rubric: string): Effect.fn.Return<Open, InvalidOption.InvalidOption> {
    const backend = yield* Effect.serviceOption(Tinker.Tinker)
    if (Option.isNone(backend)) {
      return yield* new InvalidOption.InvalidOption({
        field: "judge",
        found: JSON.stringify(rubric),
        expected: "no judge, because no model can sample here"
      })
    }
    const options = { model, maxTokens: longestJudgement, temperature: 0, seed: 0 }
    return Effect.map(
      backend.value.createSamplingClient({ baseModel: model.name }),
      (client) => MessagePolicy.fromSamplingClient(client, options)
    )
  }
)
