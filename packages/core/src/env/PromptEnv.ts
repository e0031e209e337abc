/** An environment with one prompt and one answer and no reward of its own. The group compares the answers. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../catalog/ChatModel.ts"
import * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import * as Env from "./Env.ts"
import type { Trajectory } from "./Trajectory.ts"

type Model = Pick<ChatModel, "renderer">

/**
 * The environment of one prompt: it ends after one response, with reward 0.
 *
 * @see tinker-cookbook `PreferenceEnv`
 *
 * @example
 * const group = EnvGroupBuilder.make({ key: "haiku", size: 4, makeEnv: () => Effect.succeed(PromptEnv.make(model, messages)) })
 */
export const make = (
  { renderer }: Model,
  messages: ReadonlyArray<Message.Message>
): Env.Env<Renderer.RendererError> =>
  Env.singleTurn(renderer, messages, ({ message }, { stopReason }) =>
    Effect.succeed({
      _tag: "Done",
      reward: 0,
      score: { value: 0, answer: Message.text(message) },
      stopReason: stopReason === "length" ? "max_tokens" : "completed"
    }))

/** The policy's last message and how it ended; an empty, malformed message if the episode has none. */
export const answer = (
  { renderer }: Model,
  { transitions }: Trajectory
): Effect.Effect<Renderer.Parsed, Renderer.RendererError> => {
  const last = transitions.at(-1)
  return last === undefined
    ? Effect.succeed({ message: Message.assistant(""), termination: "malformed" })
    : renderer.parse(last.action.tokens)
}
