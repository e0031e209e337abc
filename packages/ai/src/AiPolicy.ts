/** Policies as language models of `effect/ai`, and language models as policies. */
import { Message, type MessagePolicy } from "@effect-rl/core"
import { Metering } from "@effect-rl/core/backend"
import { PythonJson, Renderer, type ToolSpec } from "@effect-rl/core/renderers"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as AiTool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Ref from "effect/Ref"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiMessages from "./AiMessages.ts"

const refused = (parameter: string, description: string, method = "toLanguageModel") =>
  AiError.make({ module: "AiPolicy", method, reason: new AiError.InvalidRequestError({ parameter, description }) })

/** The tokens that an answer used, or undefined if the provider does not report them. */
const tokensOf = ({ inputTokens, outputTokens }: Response.Usage): Metering.Tokens | undefined =>
  inputTokens.total === undefined || outputTokens.total === undefined
    ? undefined
    : { prefilled: inputTokens.total, sampled: outputTokens.total, trained: 0, cached: inputTokens.cacheRead }

/**
 * A policy, such as a judge, user or opponent, that is played by any `effect/ai` provider. Seeds are not passed to the
 * provider. A run counts the tokens that the provider reports, at the prices listed for `name`. A plan of a run sends
 * no requests, so it costs nothing.
 *
 * @example
 * const judge = LanguageModel.LanguageModel.use((languageModel) => Effect.succeed(AiPolicy.fromLanguageModel(languageModel, "judge")))
 */
export const fromLanguageModel = (
  model: LanguageModel.LanguageModel,
  name = "language model"
): MessagePolicy.MessagePolicy<AiError.AiError> => ({
  respond: Effect.fnUntraced(function*({ messages }) {
    const { asks, count } = yield* Metering.Metering
    if (!asks) return yield* refused("prompt", "a plan asks no language model", "fromLanguageModel")
    const { reasoningText, text, usage } = yield* model.generateText({ prompt: AiMessages.toPrompt(messages) })
    yield* count(name, tokensOf(usage))
    const content: Message.Message["content"] = reasoningText === undefined ? text : [
      { type: "thinking", thinking: reasoningText },
      { type: "text", text }
    ]
    return { role: "assistant", content }
  })
})

export interface Options {
  /** The prefix of request keys. Each request's seed is derived from its key. */
  readonly key: string
  /** Describes tools to the policy. Without it, requests with tools are refused. */
  readonly renderer?: Pick<Renderer.Renderer, "name" | "toolsPrefix">
}

const unreadable = (description: string) =>
  AiError.make({
    module: "AiPolicy",
    method: "toLanguageModel",
    reason: new AiError.InvalidOutputError({ description })
  })

const failed = (error: unknown) =>
  AiError.isAiError(error) ? error : AiError.make({
    module: "AiPolicy",
    method: "toLanguageModel",
    reason: new AiError.UnknownError({ description: Predicate.isError(error) ? error.message : String(error) })
  })

const toJsonObject = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const specOf = (tool: AiTool.Any): ToolSpec.ToolSpec => ({
  name: tool.name,
  description: AiTool.getDescription(tool) ?? "",
  parameters: toJsonObject(AiTool.getJsonSchema(tool))
})

/** The conversation, preceded by the descriptions of the request's tools. */
const conversation = Effect.fnUntraced(function*(
  { prompt, responseFormat, toolChoice, tools }: LanguageModel.ProviderOptions,
  { renderer }: Options
) {
  if (responseFormat.type === "json") return yield* refused("responseFormat", "answers are text, expected \"text\"")
  const messages = yield* AiMessages.fromPrompt(prompt)
  if (tools.length === 0 || toolChoice === "none") return messages
  if (toolChoice !== "auto") {
    return yield* refused("toolChoice", "a policy chooses itself, expected \"auto\" or \"none\"")
  }
  if (renderer?.toolsPrefix === undefined) {
    return yield* refused("toolkit", "give a renderer that tells models of tools, such as qwen3")
  }
  return yield* Renderer.withTools(renderer, tools.map(specOf), messages).pipe(
    Effect.catch((error) => refused("toolkit", error.message))
  )
})

const usage = { inputTokens: {}, outputTokens: {} }

/** The tool call as a prompt part. A call without an id gets an id from its position in the conversation. */
const toCall = ({ function: { arguments: args, name }, id }: Message.ToolCall, turn: number, index: number) =>
  Result.match(PythonJson.parse(args), {
    onFailure: (problem) => Effect.fail(unreadable(`arguments of "${name}" are not JSON: ${problem}`)),
    onSuccess: (params) =>
      Effect.succeed({
        type: "tool-call" as const,
        id: id ?? `call_${turn}_${index}`,
        name,
        params: PythonJson.toJson(params)
      })
  })

/** The response parts of an answer that follows `turn` messages. */
const toParts = Effect.fnUntraced(function*(message: Message.Message, turn: number) {
  const [unparsed] = message.unparsedToolCalls ?? []
  if (unparsed !== undefined) return yield* unreadable(`a tool call cannot be read: ${unparsed.error}`)
  const calls = yield* Effect.forEach(message.toolCalls ?? [], (call, index) => toCall(call, turn, index))
  const said = Message.parts(message).flatMap((part): ReadonlyArray<Response.PartEncoded> => {
    if (part.type === "image") return []
    return part.type === "text" ? [part] : [{ type: "reasoning", text: part.thinking }]
  })
  const finish: Response.PartEncoded = { type: "finish", reason: calls.length > 0 ? "tool-calls" : "stop", usage }
  return [...said, ...calls, finish]
})

/** The stream parts of one response part: its whole text is a single delta. */
const toStreamParts = (part: Response.PartEncoded, index: number): ReadonlyArray<Response.StreamPartEncoded> => {
  const id = String(index)
  if (part.type === "text") {
    return [{ type: "text-start", id }, { type: "text-delta", id, delta: part.text }, { type: "text-end", id }]
  }
  if (part.type === "reasoning") {
    return [
      { type: "reasoning-start", id },
      { type: "reasoning-delta", id, delta: part.text },
      { type: "reasoning-end", id }
    ]
  }
  return [part]
}

/**
 * A policy as the language model of an application, including tool calls. Streams send each part as a single delta. Request number `n`,
 * counted from 0, has the key `key/n`, which fixes its seed. Requests for JSON and requests that force a tool call are refused.
 */
export const toLanguageModel = Effect.fnUntraced(function*<E, R>(
  policy: MessagePolicy.MessagePolicy<E, R>,
  options: Options
): Effect.fn.Return<LanguageModel.LanguageModel, never, R> {
  const context = yield* Effect.context<R>()
  const requests = yield* Ref.make(0)
  const generate = Effect.fnUntraced(function*(asked: LanguageModel.ProviderOptions) {
    const messages = yield* conversation(asked, options)
    const request = yield* Ref.getAndUpdate(requests, (count) => count + 1)
    const answer = yield* policy.respond({ messages, key: `${options.key}/${request}` }).pipe(
      Effect.provideContext(context),
      Effect.mapError(failed)
    )
    return yield* toParts(answer, messages.length)
  })
  return yield* LanguageModel.make({
    generateText: generate,
    streamText: (asked) =>
      Stream.fromIterableEffect(Effect.map(generate(asked), (parts) => parts.flatMap(toStreamParts)))
  })
})
