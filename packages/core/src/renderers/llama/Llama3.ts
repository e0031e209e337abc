/** Llama 3 instruct without tools; the prompt contains no dates. */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import type { MakeReader } from "../DeltaSink.ts"
import * as Markup from "../Markup.ts"
import * as PlainReader from "../PlainReader.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"

const beginning = "<|begin_of_text|>"
const endOfTurn = "<|eot_id|>"
const controls = [beginning, endOfTurn, "<|start_header_id|>", "<|end_header_id|>"]

/** The parts in which the renderers with and without tools differ. */
export interface Dialect {
  readonly name: string
  readonly roleOf: (role: string) => string
  readonly content: (message: Message.Message) => Effect.Effect<Markup.Markup, RendererError>
  readonly read: (text: string) => Message.Message
  readonly reader: MakeReader
  readonly toolsPrefix?: NonNullable<Renderer["toolsPrefix"]>
  readonly calls?: NonNullable<Renderer["calls"]>
}

/** Makes the renderer of a dialect. */
export const make = Effect.fnUntraced(function*(
  { calls, content, name, read, reader, roleOf, toolsPrefix }: Dialect,
  tokenizer: Tokenizer
): Effect.fn.Return<Renderer, RendererError> {
  const encoder = yield* Markup.encoder(name, tokenizer, controls)
  const end = encoder.id(endOfTurn)
  const header = (role: string) =>
    encoder.encode(["<|start_header_id|>", Markup.plain(roleOf(role)), "<|end_header_id|>\n\n"])
  return TemplateRenderer.make({
    name,
    tokenizer,
    stop: [end],
    hasExtensionProperty: true,
    disablesThinking: false,
    beginning: encoder.encode(beginning),
    message: (message) =>
      Effect.map(content(message), (markup) => ({
        header: header(message.role),
        output: [encoder.encode([markup, endOfTurn])]
      })),
    generationHeader: (role) => Effect.sync(() => header(role)),
    parse: StopToken.parse(name, tokenizer, end, read),
    reader: () => reader,
    ...(toolsPrefix === undefined ? {} : { toolsPrefix }),
    ...(calls === undefined ? {} : { calls })
  })
})

/**
 * The renderer of Llama 3 instruct. It supports text only; use `llama3_tools` for tools. @see tinker-cookbook `Llama3Renderer`
 *
 * @example
 * ChatModel.resolve("meta-llama/Llama-3.2-1B", { renderer: Llama3.llama3 })
 */
export const llama3 = (tokenizer: Tokenizer): Effect.Effect<Renderer, RendererError> =>
  make({
    name: "llama3",
    roleOf: (role) => role,
    content: (message) =>
      Effect.map(ChatTemplate.onlyText("llama3", message), (text) => Markup.textOf(message.role, text)),
    read: Message.assistant,
    reader: PlainReader.text
  }, tokenizer)
