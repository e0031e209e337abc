/** A problem whose reward is the share of right digits instead of right or wrong. */
import { Env, EnvMetric, Message } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Boxed from "../grading/Boxed.ts"
import * as MathEnv from "../math/MathEnv.ts"

const digitsOf = (text: string) => text.match(/\d/g) ?? []

/**
 * The number of digits that the answer shares with the reference, divided by the number of digits of the longer text: 1 if all digits match
 * in any order, 0 if none do. Padding an answer with digits lowers the share.
 */
export const digitShare = (answer: string, reference: string): number => {
  const found = digitsOf(answer)
  const wanted = digitsOf(reference)
  const shared = [..."0123456789"].reduce((count, digit) => {
    const times = (digits: ReadonlyArray<string>) => digits.filter((other) => other === digit).length
    return count + Math.min(times(found), times(wanted))
  }, 0)
  return shared / Math.max(1, found.length, wanted.length)
}

/**
 * An environment with reward `digitShare` of the boxed answer, or 0 without a box.
 *
 * @example
 * const env = DigitShareEnv.make({ model, problem: "What is 17 · 23?", answer: "391" })
 */
export const make = (options: MathEnv.Options): Env.Env<Renderer.RendererError> => {
  const messages = [...(options.prefix ?? []), Message.user(MathEnv.question(options.problem))]
  return Env.singleTurn(options.model.renderer, messages, ({ message }) => {
    const answer = Boxed.extract(Message.text(message))
    return Effect.succeed({
      _tag: "Done",
      reward: Option.match(answer, { onNone: () => 0, onSome: (given) => digitShare(given, options.answer) }),
      metrics: { format: EnvMetric.rate(Option.isSome(answer)) }
    })
  })
}
