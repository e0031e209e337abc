/** One prompt, one response. */
import * as Effect from "effect/Effect"
import type * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import * as Env from "./Env.ts"

/**
 * Parses the response and grades it; a step after that is a defect.
 *
 * @example
 * const env = SingleTurn.make(model.renderer, messages, ({ message }) =>
 *   Effect.succeed({ _tag: "Done", reward: Message.text(message).length < 100 ? 1 : 0 }))
 */
export const make = <E, R>(
  renderer: Renderer.Renderer,
  messages: ReadonlyArray<Message.Message>,
  judge: (response: Renderer.Parsed, action: Env.Action) => Effect.Effect<Env.Done, E, R>
): Env.Env<E | Renderer.RendererError, R> => {
  let isOver = false
  return {
    initialObservation: Effect.map(
      renderer.generationPrompt(messages),
      (input) => Env.prompt(input, renderer.stop, messages)
    ),
    step: Effect.fnUntraced(function*(action) {
      if (isOver) return yield* Effect.die(new Error("the episode is over"))
      const judged = yield* judge(yield* renderer.parse(action.tokens), action)
      isOver = true
      return judged
    })
  }
}
