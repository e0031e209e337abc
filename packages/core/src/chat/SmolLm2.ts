/** SmolLM2 instruct: turns between `<|im_start|>` and `<|im_end|>`, and a system message where a conversation has none. */
import * as Effect from "effect/Effect"
import * as ChatMl from "./ChatMl.ts"
import * as ChatTemplate from "./ChatTemplate.ts"
import * as Message from "./Message.ts"
import type { Renderer, RendererError } from "./Renderer.ts"
import * as StopToken from "./StopToken.ts"
import type { Tokenizer } from "./Tokenizer.ts"

const name = "smollm2"

/** What the model was tuned with, as its own chat template adds it. */
export const systemMessage = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

/** Text only, no tools: the smaller models of the family were not tuned to call any. */
export const smolLm2 = Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
  const end = yield* ChatMl.endToken(name, tokenizer)
  const preamble = `${ChatMl.header("system", true)}${systemMessage}${ChatMl.endOfTurn}`
  const header = (role: string, index: number) => {
    if (index > 0 || role === "system") return ChatMl.header(role, index === 0)
    return preamble + ChatMl.header(role, false)
  }
  return ChatTemplate.toRenderer({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: true,
    disablesThinking: false,
    beginning: new Int32Array(),
    message: (message, { index }) =>
      Effect.map(ChatTemplate.onlyText(name, message), (text) => ({
        header: tokenizer.encode(header(message.role, index)),
        output: [tokenizer.encode(text, { splitSpecialTokens: true }), Int32Array.of(end)]
      })),
    generationHeader: (role, isFirst) => tokenizer.encode(ChatMl.header(role, isFirst)),
    parse: (tokens) =>
      Effect.map(StopToken.split(name, tokenizer, end, tokens), ({ text, termination }) => ({
        message: Message.assistant(text),
        termination
      }))
  })
})
