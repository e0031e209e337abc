/** Llama 3 instruct: text only, no tools, no dates added. */
import * as Effect from "effect/Effect"
import * as ChatTemplate from "./ChatTemplate.ts"
import * as Message from "./Message.ts"
import type { Renderer, RendererError } from "./Renderer.ts"
import * as StopToken from "./StopToken.ts"
import type { Tokenizer } from "./Tokenizer.ts"

const name = "llama3"

/** @see tinker-cookbook `Llama3Renderer` */
export const llama3 = Effect.fnUntraced(function*(tokenizer: Tokenizer): Effect.fn.Return<Renderer, RendererError> {
  const begin = yield* StopToken.find(name, tokenizer, "<|begin_of_text|>")
  const end = yield* StopToken.find(name, tokenizer, "<|eot_id|>")
  const header = (role: string) => tokenizer.encode(`<|start_header_id|>${role}<|end_header_id|>\n\n`)
  return ChatTemplate.toRenderer({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: true,
    disablesThinking: false,
    beginning: Int32Array.of(begin),
    message: (message) =>
      Effect.map(ChatTemplate.onlyText(name, message), (text) => ({
        header: header(message.role),
        output: [tokenizer.encode(`${text}<|eot_id|>`)]
      })),
    generationHeader: header,
    parse: (tokens) =>
      Effect.map(StopToken.split(name, tokenizer, end, tokens), ({ text, termination }) => ({
        message: Message.assistant(text),
        termination
      }))
  })
})
