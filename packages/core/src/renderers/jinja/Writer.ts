/** Writes conversations with one Jinja chat template, as marked text. */
import * as Effect from "effect/Effect"
import type { JinjaTemplate, Variables } from "../../chat/JinjaTemplate.ts"
import type * as Message from "../../chat/Message.ts"
import { RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as MarkedText from "./MarkedText.ts"
import * as Conversation from "./TemplateConversation.ts"

export interface Source {
  readonly renderer: string
  readonly tokenizer: Tokenizer
  readonly template: JinjaTemplate
  /** Variables that the template reads in addition to the conversation, such as `enable_thinking`. */
  readonly variables: Variables
}

type Messages = ReadonlyArray<Message.Message>

/** Writes prefixes of one conversation. */
export interface Writer {
  /** The text of the first `count` messages. */
  readonly whole: (count: number) => Effect.Effect<string, RendererError>
  /** The text of the first `count` messages, followed by the header of an assistant turn. */
  readonly prompt: (count: number) => Effect.Effect<string, RendererError>
  readonly encode: (text: string) => Int32Array
}

/** The tokenizer's begin-of-text and end-of-text tokens. */
const constants = ({ tokenizer }: Source): Variables => ({
  bos_token: tokenizer.bosToken ?? "",
  eos_token: tokenizer.eosTokenId === undefined ? "" : tokenizer.decode([tokenizer.eosTokenId])
})

export const make = Effect.fnUntraced(function*(
  source: Source,
  messages: Messages
): Effect.fn.Return<Writer, RendererError> {
  const { renderer, template, tokenizer } = source
  const mark = MarkedText.markFor(JSON.stringify(messages))
  if (mark === undefined) {
    const detail = "the messages hold each of U+FDD0 to U+FDEF, of which one must be free to mark quoted control tokens"
    return yield* new RendererError({ renderer, detail })
  }
  const form = { renderer, tokenizer, template, mark }
  const write = (count: number, isPrompt: boolean) =>
    Effect.flatMap(
      Conversation.variables(form, messages.slice(0, count)),
      (conversation) =>
        Conversation.written(renderer, template, {
          ...constants(source),
          ...source.variables,
          ...conversation,
          add_generation_prompt: isPrompt
        })
    )
  return {
    whole: (count) => write(count, false),
    prompt: (count) => write(count, true),
    encode: (text) => MarkedText.encode(tokenizer, mark, text)
  }
})
