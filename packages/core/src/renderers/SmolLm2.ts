/** SmolLM2 instruct: turns between `<|im_start|>` and `<|im_end|>`, and a default system message. */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import type { Renderer, RendererError } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as ChatMl from "./ChatMl.ts"
import * as ChatTemplate from "./ChatTemplate.ts"
import * as Markup from "./Markup.ts"
import * as PlainReader from "./PlainReader.ts"
import * as StopToken from "./StopToken.ts"
import * as TemplateRenderer from "./TemplateRenderer.ts"

const name = "smollm2"

/** The system message of the model's own chat template. */
export const systemMessage = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

/** The renderer of SmolLM2 instruct. It supports text only, because the smaller models of the family were not tuned to call tools. */
export const smolLm2 = Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
  const encoder = yield* Markup.encoder(name, tokenizer, [ChatMl.startOfTurn, ChatMl.endOfTurn])
  const end = encoder.id(ChatMl.endOfTurn)
  const endOfTurn = Int32Array.of(end)
  const preamble = `${ChatMl.header("system", true)}${systemMessage}${ChatMl.endOfTurn}`
  const header = (role: string, index: number) => {
    if (index > 0 || role === "system") return ChatMl.header(role, index === 0)
    return preamble + ChatMl.header(role, false)
  }
  return TemplateRenderer.make({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: true,
    disablesThinking: false,
    beginning: new Int32Array(),
    message: (message, { index }) =>
      Effect.mapEager(ChatTemplate.onlyText(name, message), (text) => ({
        header: encoder.encode(header(message.role, index)),
        output: [encoder.encode(Markup.plain(text)), endOfTurn]
      })),
    generationHeader: (role, { index }) => Effect.sync(() => encoder.encode(ChatMl.header(role, index === 0))),
    parse: StopToken.parse(name, tokenizer, end, Message.assistant),
    reader: () => PlainReader.text
  })
})
