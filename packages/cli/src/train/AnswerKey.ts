/** The problems' right answers, for the mock backend. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"

export type AnswerTo = (prompt: string) => Option.Option<string>

/** A function from a question to its right answer. It knows no answers until a task has been built. */
export class AnswerKey extends Context.Service<AnswerKey, Ref.Ref<AnswerTo>>()("@effect-rl/cli/train/AnswerKey") {
  static readonly layer = Layer.effect(AnswerKey, Ref.make<AnswerTo>(() => Option.none()))

  static readonly set = (answerTo: AnswerTo) => Effect.flatMap(AnswerKey, (key) => Ref.set(key, answerTo))
}
