/**
 * Builds the prompt of a later turn, and keeps everything that was sampled before, token for token.
 *
 * @example
 * const next = Effect.gen(function*() {
 *   const messages = [Message.user("What is 2 + 2?")]
 *   const input = yield* model.renderer.generationPrompt(messages)
 *   const response = model.tokenizer.encode("4<|im_end|>")
 *   const parsed = yield* model.renderer.parse(response)
 *   const turn: Continuation.Turn = { messages, input, response, parsed }
 *   return yield* Continuation.next(model.renderer, turn, [...messages, parsed.message, Message.user("And twice that?")])
 * })
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"
import type * as Message from "../../chat/Message.ts"
import type { GenerationOptions, Parsed, Renderer, RendererError } from "../../chat/Renderer.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Branch from "../Branch.ts"

/** A finished turn: its conversation, prompt and response. */
export interface Turn {
  readonly messages: ReadonlyArray<Message.Message>
  readonly input: ModelInput.ModelInput
  readonly response: Int32Array
  readonly parsed: Parsed
}

/** A prompt, and the branch if it does not begin with the whole previous turn. */
export interface Continued {
  readonly input: ModelInput.ModelInput
  readonly branch?: Branch.Branch
}

/** Whether the conversation begins with the turn's conversation followed by the parsed response. */
const appends = ({ messages, parsed }: Turn, conversation: ReadonlyArray<Message.Message>) =>
  [...messages, parsed.message].every((message, index) => Equal.equals(message, conversation[index]))

const lastToken = ({ chunks }: ModelInput.ModelInput) => {
  const chunk = chunks.at(-1)
  return chunk?._tag === "EncodedText" ? chunk.tokens.at(-1) : undefined
}

/**
 * The rendered tokens after the response: its end of turn, if the response was cut before it, and everything that follows. `undefined` if
 * the end of the response cannot be found in the rendered conversation.
 */
const afterResponse = Effect.fnUntraced(function*(renderer: Renderer, turn: Turn, rendered: ModelInput.ModelInput) {
  const { message, termination } = turn.parsed
  const upToResponse = yield* Effect.option(
    renderer.supervisedExample([...turn.messages, message], "last_assistant_message")
  )
  if (Option.isNone(upToResponse) || termination === "eos") return undefined
  const rest = ModelInput.after(rendered, upToResponse.value.input)
  if (rest === undefined || termination === "stop_sequence") return rest
  const end = lastToken(upToResponse.value.input)
  return end !== undefined && renderer.stop.some((stop) => stop === end)
    ? ModelInput.concat(ModelInput.fromTokens([end]), rest)
    : undefined
})

/**
 * The next prompt. If the rendered conversation begins with the previous prompt and the sampled tokens, it is the next prompt. Otherwise,
 * if the renderer has the extension property, the conversation only grew and the rendered end of the response is found, the prompt consists
 * of the previous prompt, the sampled tokens and the rendered tokens after the response. So the sampled tokens are kept even if parsing and
 * rendering the response again would give other tokens. In all other cases the rendered conversation is marked as a branch.
 */
export const next = Effect.fnUntraced(function*(
  renderer: Renderer,
  turn: Turn,
  conversation: ReadonlyArray<Message.Message>,
  options?: GenerationOptions
): Effect.fn.Return<Continued, RendererError> {
  const rendered = yield* renderer.generationPrompt(conversation, options)
  const before = ModelInput.append(turn.input, turn.response)
  if (ModelInput.after(rendered, before) !== undefined) return { input: rendered }
  if (!appends(turn, conversation)) return { input: rendered, branch: Branch.anew("edit") }
  if (!renderer.hasExtensionProperty) return { input: rendered, branch: Branch.anew("renderer") }
  const rest = yield* afterResponse(renderer, turn, rendered)
  return rest === undefined
    ? { input: rendered, branch: Branch.anew("response") }
    : { input: ModelInput.concat(before, rest) }
})
