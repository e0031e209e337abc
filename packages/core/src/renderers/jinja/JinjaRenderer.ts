/** A renderer built from a model's own Jinja chat template, for model families without a renderer here. */
import * as Effect from "effect/Effect"
import type { Variables } from "../../chat/JinjaTemplate.ts"
import * as Message from "../../chat/Message.ts"
import { type GenerationOptions, type Parsed, type Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as StopToken from "../StopToken.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as Examples from "./Examples.ts"
import * as Probe from "./Probe.ts"
import * as Conversation from "./TemplateConversation.ts"
import * as Writer from "./Writer.ts"

/** The name of all renderers built from a Jinja template. */
export const name = "chat_template"

const sourceOf = (tokenizer: Tokenizer, variables: Variables): Effect.Effect<Writer.Source, RendererError> =>
  tokenizer.chatTemplate === undefined
    ? Effect.fail(new RendererError({ renderer: name, detail: "the tokenizer comes with no chat template" }))
    : Effect.succeed({ renderer: name, tokenizer, template: tokenizer.chatTemplate, variables })

/**
 * Probes the tokenizer's chat template for its stop, its reasoning and call formats, and whether prompts extend each other; `limits` lists
 * what does not work.
 */
export const measure = (
  tokenizer: Tokenizer,
  variables: Variables = {}
): Effect.Effect<Probe.Measured, RendererError> => Effect.flatMap(sourceOf(tokenizer, variables), Probe.measure)

type Messages = ReadonlyArray<Message.Message>

const prompt = Effect.fnUntraced(function*(source: Writer.Source, messages: Messages, options: GenerationOptions) {
  const { prefill = "", role = "assistant" } = options
  if (role !== "assistant") {
    const detail = `the next role is "${role}", expected "assistant": a chat template begins no other turn`
    return yield* new RendererError({ renderer: name, detail })
  }
  const writer = yield* Writer.make(source, messages)
  return ModelInput.fromChunks([
    { _tag: "EncodedText", tokens: writer.encode(yield* writer.prompt(messages.length)) },
    { _tag: "EncodedText", tokens: source.tokenizer.encode(prefill) }
  ])
})

const parse = ({ measured, source, stops }: Examples.Known, tokens: Int32Array): Effect.Effect<Parsed, RendererError> =>
  Effect.map(StopToken.splitAtAny(name, source.tokenizer, stops, tokens), ({ stop, text }) => {
    if (stop === undefined) return { message: Message.assistant(text), termination: "malformed" }
    const message = measured.calls.read(text, measured.thinking)
    return { message, termination: stop === stops[0] ? "stop_sequence" : "eos" }
  })

/**
 * Builds a renderer that writes with the tokenizer's own chat template. It reads reasoning between `<think>` tags, and tool calls in the
 * formats of Hermes and Qwen, Llama 3 or Mistral, if the template uses them. Special tokens inside the messages of users, assistants and
 * tools are read as plain characters. The template gets no date.
 *
 * The renderer's limits are in `measure(tokenizer).limits`. `hasExtensionProperty` comes from probes; if a conversation behaves
 * differently, for instance because the template trims its text, its next prompt is a new branch. Only assistant messages can be trained.
 * Fails if the tokenizer has no chat template, and with the template's error if the template cannot write a text conversation.
 *
 * @param variables variables that the template reads in addition to the conversation, such as `enable_thinking`
 *
 * @example
 * const tokenizer = yield* Tokenizer.Tokenizers.use(({ load }) => load("my-org/my-model"))
 * const renderer = yield* JinjaRenderer.fromChatTemplate(tokenizer, { enable_thinking: false })
 */
export const fromChatTemplate = Effect.fnUntraced(function*(
  tokenizer: Tokenizer,
  variables: Variables = {}
): Effect.fn.Return<Renderer, RendererError> {
  const source = yield* sourceOf(tokenizer, variables)
  const measured = yield* Probe.measure(source)
  const stops = measured.stops.flatMap((stop) => tokenizer.specialToken(stop) ?? [])
  const known: Examples.Known = { source, measured, stops }
  return {
    name,
    stop: stops,
    hasExtensionProperty: measured.hasExtensionProperty,
    generationPrompt: (messages, options = {}) => prompt(source, messages, options),
    parse: (tokens) => parse(known, tokens),
    stream: () =>
      TemplateRenderer.stream({
        tokenizer,
        stop: stops,
        parse: (tokens) => parse(known, tokens),
        reader: measured.calls.reader(measured.thinking)
      }),
    supervisedExample: (messages, trainOnWhat) => Examples.example(known, messages, trainOnWhat),
    supervisedExamples: (messages, trainOnWhat) => Examples.examples(known, messages, trainOnWhat),
    ...(measured.calls.name === "none" ? {} : {
      toolsPrefix: (tools, systemPrompt) =>
        Effect.succeed([
          ...(tools.length === 0 ? [] : [Conversation.declare(tools)]),
          ...(systemPrompt === "" ? [] : [Message.system(systemPrompt)])
        ])
    }),
    ...(measured.calls.form === undefined ? {} : { calls: measured.calls.form })
  }
})
