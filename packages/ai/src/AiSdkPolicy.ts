/** Policies as AI SDK language models, and AI SDK language models as policies. */
import {
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import type { Message, MessagePolicy } from "@effect-rl/core"
import { Grammar, Metering } from "@effect-rl/core/backend"
import { HeldResponse, Renderer, type ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiSdkMessages from "./AiSdkMessages.ts"

/** An AI SDK language model did not answer. */
export class AiSdkError extends Schema.TaggedError<AiSdkError>()("AiSdkError", {
  model: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `the language model ${this.model} does not answer: ${this.detail}`
  }
}

const textOf = (cause: unknown) => Predicate.isError(cause) ? cause.message : String(cause)

/** The tokens that an answer used, or undefined if the provider does not report them. */
const tokensOf = ({ inputTokens, outputTokens }: LanguageModelV4Usage): Metering.Tokens | undefined =>
  inputTokens.total === undefined || outputTokens.total === undefined
    ? undefined
    : { prefilled: inputTokens.total, sampled: outputTokens.total, trained: 0, cached: inputTokens.cacheRead }

/**
 * A policy, such as a judge, user, opponent or teacher, that is played by any AI SDK language model, for example `openai("gpt-5")`. Seeds
 * are not passed to the provider. A run counts the tokens that the provider reports, at the prices listed for the model's id.
 *
 * @example
 * import type { LanguageModelV4 } from "@ai-sdk/provider"
 *
 * const judgedBy = (model: LanguageModelV4) => AiSdkPolicy.fromLanguageModel(model)
 */
export const fromLanguageModel = (model: LanguageModelV4): MessagePolicy.MessagePolicy<AiSdkError> => {
  const failed = (detail: string) => new AiSdkError({ model: model.modelId, detail })
  return {
    respond: Effect.fnUntraced(function*({ messages }) {
      const { asks, count } = yield* Metering.Metering
      if (!asks) return yield* failed("a plan asks no language model")
      const { content, usage } = yield* Effect.tryPromise({
        try: (abortSignal) => model.doGenerate({ prompt: AiSdkMessages.toPrompt(messages), abortSignal }),
        catch: (cause) => failed(textOf(cause))
      })
      yield* count(model.modelId, tokensOf(usage))
      return AiSdkMessages.fromContent(content)
    })
  }
}

/** How an application's requests reach the policy. */
export interface Options {
  /** The prefix of request keys, from which seeds are derived. It is also the `modelId` of the language model. */
  readonly key: string
  /**
   * The policy's model. It describes tools to the policy, and its backend constrains answers to schemas and forced tool calls. Without it,
   * requests with tools or for JSON answers are refused.
   */
  readonly model?: HeldResponse.Model
}

const unsupported = (functionality: string, message: string) =>
  new UnsupportedFunctionalityError({ functionality, message })

const toJsonObject = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const specOf = (tool: NonNullable<LanguageModelV4CallOptions["tools"]>[number]): ToolSpec.ToolSpec => {
  if (tool.type !== "function") {
    throw unsupported(`tool ${tool.name}`, `${tool.name} runs at a provider, expected tools of the application`)
  }
  return { name: tool.name, description: tool.description ?? "", parameters: toJsonObject(tool.inputSchema) }
}

const withTools = Effect.fnUntraced(function*(
  model: Options["model"],
  tools: ReadonlyArray<ToolSpec.ToolSpec>,
  messages: ReadonlyArray<Message.Message>
) {
  if (model?.renderer.toolsPrefix === undefined) {
    return yield* Effect.fail(unsupported("tools", "give a model whose renderer tells it of tools, such as qwen3"))
  }
  return yield* Renderer.withTools(model.renderer, tools, messages)
})

/** The grammar, or an `UnsupportedFunctionalityError` with the reason why no grammar can constrain the answer. */
const held = (functionality: string, found: Result.Result<Grammar.Grammar, string>) =>
  Effect.mapError(Effect.fromResult(found), (because) => unsupported(functionality, `${functionality}: ${because}`))

const noModel = (functionality: string) =>
  unsupported(functionality, "give the model of the policy, whose backend holds it")

/** What a request asks for: the conversation, preceded by its tool descriptions, and the grammar of the answer. */
const conversation = Effect.fnUntraced(function*(asked: LanguageModelV4CallOptions, { model }: Options) {
  const { prompt, responseFormat, toolChoice = { type: "auto" }, tools = [] } = asked
  const messages = AiSdkMessages.fromPrompt(prompt)
  const offered = toolChoice.type === "none" ? [] : tools
  const specs = offered.map(specOf)
  const described = specs.length === 0 ? messages : yield* withTools(model, specs, messages)
  const isForced = toolChoice.type === "required" || toolChoice.type === "tool"
  if (responseFormat?.type === "json") {
    if (model === undefined) return yield* Effect.fail(noModel("responseFormat"))
    if (specs.length > 0) {
      return yield* Effect.fail(unsupported("responseFormat", "an answer that is JSON leaves no way to call a tool"))
    }
    const schema = responseFormat.schema === undefined
      ? Grammar.jsonObject.jsonSchema
      : toJsonObject(responseFormat.schema)
    const grammar = yield* held("responseFormat", yield* HeldResponse.value(model, messages, schema))
    return { messages, grammar, isStrictLeft: false }
  }
  const strict = offered.flatMap((tool) => tool.type === "function" && tool.strict === true ? [tool.name] : [])
  if (!isForced && strict.length === 0) return { messages: described, grammar: undefined, isStrictLeft: false }
  if (model === undefined) return yield* Effect.fail(noModel("toolChoice"))
  const callable = specs.filter(({ name }) => toolChoice.type !== "tool" || name === toolChoice.toolName)
  if (callable.length === 0) return yield* Effect.fail(unsupported("toolChoice", "it names no tool of the request"))
  const found = yield* HeldResponse.calls(model, messages, {
    tools: callable.map((spec) => ({ spec, isStrict: strict.includes(spec.name) })),
    isForced,
    isOne: isForced
  })
  if (!isForced && Result.isFailure(found)) return { messages: described, grammar: undefined, isStrictLeft: true }
  return { messages: described, grammar: yield* held("toolChoice", found), isStrictLeft: false }
})

/** Sampling options that the policy sets itself. A request that sets them gets a warning. */
const own = [
  "maxOutputTokens",
  "temperature",
  "stopSequences",
  "topP",
  "topK",
  "presencePenalty",
  "frequencyPenalty",
  "seed"
] as const

const warningsOf = (
  options: LanguageModelV4CallOptions,
  isStrictLeft: boolean
): LanguageModelV4GenerateResult["warnings"] => [
  ...own.filter((name) => options[name] !== undefined).map((feature) => ({
    type: "unsupported" as const,
    feature,
    details: "the policy decides how it samples"
  })),
  ...(isStrictLeft
    ? [{ type: "unsupported" as const, feature: "strict", details: "no grammar can constrain the calls of the policy" }]
    : [])
]

/** The sum of the counted tokens. Undefined if nothing was counted or a count is missing. */
const usageOf = (used: ReadonlyArray<Metering.Used>): LanguageModelV4Usage => {
  const known = used.flatMap(([, tokens]) => tokens ?? [])
  const isKnown = known.length > 0 && known.length === used.length
  const sum = (amount: (tokens: Metering.Tokens) => number) =>
    isKnown ? known.reduce((total, tokens) => total + amount(tokens), 0) : undefined
  return {
    inputTokens: {
      total: sum(({ prefilled }) => prefilled),
      noCache: undefined,
      cacheRead: undefined,
      cacheWrite: undefined
    },
    outputTokens: { total: sum(({ sampled }) => sampled), text: undefined, reasoning: undefined }
  }
}

/** Counts every request in both meterings: that of the policy's caller and `own`. */
const beside = (outer: Metering.Metering, own: Metering.Metering): Metering.Metering => ({
  ...outer,
  meter: (client, model = client.modelPath) => outer.meter(own.meter(client, model), model),
  count: (model, tokens) => Effect.andThen(outer.count(model, tokens), own.count(model, tokens))
})

type Answered = Extract<LanguageModelV4Content, { readonly type: "text" | "reasoning" | "tool-call" }>

interface Generated extends LanguageModelV4GenerateResult {
  content: Array<Answered>
}

/** The content of an answer. A tool call without an id gets an id from its position; an unparsed tool call becomes text. */
const toContent = (message: Message.Message, turn: number): Array<Answered> => [
  ...(typeof message.content === "string"
    ? [{ type: "text" as const, text: message.content }]
    : message.content.flatMap((part): ReadonlyArray<Answered> => {
      if (part.type === "image") return []
      return [part.type === "text" ? { type: "text", text: part.text } : { type: "reasoning", text: part.thinking }]
    })),
  ...(message.unparsedToolCalls ?? []).map(({ rawText }) => ({ type: "text" as const, text: rawText })),
  ...(message.toolCalls ?? []).map(({ function: { arguments: input, name }, id }, index) => ({
    type: "tool-call" as const,
    toolCallId: id ?? `call_${turn}_${index}`,
    toolName: name,
    input
  }))
]

/** The stream parts of one content part: its whole text is a single delta. */
const toStreamParts = (part: Answered, index: number): ReadonlyArray<LanguageModelV4StreamPart> => {
  const id = String(index)
  if (part.type === "tool-call") return [part]
  return [
    { type: `${part.type}-start`, id },
    { type: `${part.type}-delta`, id, delta: part.text },
    { type: `${part.type}-end`, id }
  ]
}

/**
 * A policy, such as a sampling checkpoint, as the language model of an AI SDK application, including tool calls. Streams send each part as
 * a single delta. The usage is what `Metering` counts for the answer. Request number `n`, counted from 0, has the key `key/n`, which fixes
 * its seed. If the backend of `model` supports grammars, answers follow a given JSON schema, and forced and strict tool calls are
 * guaranteed. Requests that a policy cannot fulfill are refused with an `UnsupportedFunctionalityError`.
 *
 * @example
 * const languageModel = AiSdkPolicy.toLanguageModel(judge, { key: "application", model })
 */
export const toLanguageModel = Effect.fnUntraced(function*<E, R>(
  policy: MessagePolicy.MessagePolicy<E, R>,
  options: Options
): Effect.fn.Return<LanguageModelV4, never, R> {
  const context = yield* Effect.context<R>()
  let requests = 0
  const generate = (asked: LanguageModelV4CallOptions) => {
    const answered = Effect.gen(function*() {
      const { grammar, isStrictLeft, messages } = yield* conversation(asked, options)
      const counter = Metering.counter()
      const key = `${options.key}/${requests++}`
      const answer = yield* policy.respond({ messages, key, ...(grammar !== undefined && { grammar }) }).pipe(
        Effect.provideService(Metering.Metering, beside(yield* Metering.Metering, counter.metering))
      )
      const content = toContent(answer, messages.length)
      const unified = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop"
      const generated: Generated = {
        content,
        finishReason: { unified, raw: undefined },
        usage: usageOf(counter.used()),
        warnings: warningsOf(asked, isStrictLeft)
      }
      return generated
    })
    return Effect.runPromiseWith(context)(
      answered,
      asked.abortSignal === undefined ? {} : { signal: asked.abortSignal }
    )
  }
  const stream = ({ content, finishReason, usage, warnings }: Generated) =>
    Stream.toReadableStream(Stream.fromIterable<LanguageModelV4StreamPart>([
      { type: "stream-start", warnings },
      ...content.flatMap(toStreamParts),
      { type: "finish", finishReason, usage }
    ]))
  return {
    specificationVersion: "v4",
    provider: "effect-rl",
    modelId: options.key,
    supportedUrls: {},
    doGenerate: generate,
    doStream: (asked) => generate(asked).then((result) => ({ stream: stream(result) }))
  }
})
