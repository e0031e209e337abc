/** The right answers, for a backend that only pretends to think. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"

export type AnswerTo = (prompt: string) => Option.Option<string>

/** Empty until a task has been put together. */
export class AnswerKey extends Context.Service<AnswerKey, Ref.Ref<AnswerTo>>()("@effect-rl/cli/train/AnswerKey") {
  static readonly layer = Layer.effect(AnswerKey, Ref.make<AnswerTo>(() => Option.none()))

  static readonly set = (answerTo: AnswerTo) => Effect.flatMap(AnswerKey, (key) => Ref.set(key, answerTo))
}
