/** Conversations that end with the beginning of a reply, which the model continues. */
import { type ChatModel, Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { invalid, type Refusal } from "./Refusal.ts"

export interface Continued {
  /** The messages before the reply. */
  readonly before: ReadonlyArray<Message.Message>
  /** The beginning of the reply; empty for a new reply. */
  readonly prefill: string
}

/** Splits off the beginning of the reply. Fails if the last message is the assistant's and contains more than text. */
export const divide = (messages: ReadonlyArray<Message.Message>): Effect.Effect<Continued, Refusal> => {
  const last = messages.at(-1)
  if (last?.role !== "assistant") return Effect.succeed({ before: messages, prefill: "" })
  const other = (last.toolCalls ?? []).length > 0
    ? "tool calls"
    : Message.thinking(last) === ""
    ? undefined
    : "reasoning"
  return other === undefined
    ? Effect.succeed({ before: messages.slice(0, -1), prefill: Message.text(last) })
    : Effect.fail(
      invalid(
        `messages: the last is the assistant's and has ${other}, expected only text, which the reply continues`
      )
    )
}

/**
 * Fails if the renderer cannot render the given beginning as the start of a complete reply: because it trims the text, or because its
 * replies start with reasoning, so the text would be read as reasoning.
 */
export const check = Effect.fnUntraced(function*(
  { renderer }: ChatModel.ChatModel,
  before: ReadonlyArray<Message.Message>,
  prefill: string,
  prompt: ModelInput.ModelInput
) {
  if (prefill === "") return
  const whole = [...before, Message.assistant(prefill)]
  const closed = yield* Effect.option(renderer.supervisedExample(whole, "last_assistant_message"))
  if (Option.isSome(closed) && ModelInput.after(closed.value.input, prompt) !== undefined) return
  return yield* invalid(
    `messages: the renderer ${renderer.name} cannot continue the assistant's last message, expected the last message from the user or a tool` +
      (prefill === prefill.trimEnd() ? "" : ", or no space at its end")
  )
})
