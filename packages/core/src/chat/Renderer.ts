/** Renderers convert messages to the tokens that a model was trained on, and tokens back to messages. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { CallForm } from "./CallForm.ts"
import * as Message from "./Message.ts"
import type { ResponseStream } from "./ResponseStream.ts"
import type { Offered, ToolSpec } from "./ToolSpec.ts"

/** A conversation cannot be rendered, or a response cannot be parsed. */
export class RendererError extends Schema.TaggedError<RendererError>()("RendererError", {
  renderer: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `renderer "${this.renderer}": ${this.detail}`
  }
}

/**
 * How a response ended: at the renderer's stop, at the model's end-of-text token, or at neither ("malformed").
 *
 * @see tinker-cookbook `ParseTermination`
 */
export type Termination = "stop_sequence" | "eos" | "malformed"

/** The parsed message of a response, and how the response ended. */
export interface Parsed {
  readonly message: Message.Message
  readonly termination: Termination
}

/** Which messages of a supervised example are trained on. @see tinker-cookbook `TrainOnWhat` */
export type TrainOnWhat =
  | "last_assistant_message"
  | "last_assistant_turn"
  | "all_assistant_messages"
  | "all_messages"
  | "all_tokens"
  | "all_user_and_system_messages"
  | "customized"

/** A rendered conversation with training weights. `weights[t]` belongs to position `t` of the input, before any shift. */
export interface SupervisedExample {
  readonly input: ModelInput.ModelInput
  readonly weights: Float32Array
}

/** Options of a generation prompt. */
export interface GenerationOptions {
  /** The role that speaks next. Default: "assistant". */
  readonly role?: string
  /** Text with which the response must begin. */
  readonly prefill?: string
}

/**
 * Renders messages as tokens, and parses sampled tokens as messages.
 *
 * @see tinker-cookbook `Renderer`
 *
 * @example
 * Effect.gen(function*() {
 *   const prompt = yield* renderer.generationPrompt([Message.user("What is 2 + 2?")])
 *   const { sequences } = yield* client.sample({ prompt, params: { maxTokens: 16, stop: renderer.stop } })
 *   return yield* Effect.forEach(sequences, ({ tokens }) => renderer.parse(tokens))
 * })
 */
export interface Renderer {
  readonly name: string
  readonly stop: Sampling.Stop
  /** Whether each later prompt begins with the earlier prompt and response, token for token. */
  readonly hasExtensionProperty: boolean
  readonly generationPrompt: (
    messages: ReadonlyArray<Message.Message>,
    options?: GenerationOptions
  ) => Effect.Effect<ModelInput.ModelInput, RendererError>
  readonly parse: (tokens: Int32Array) => Effect.Effect<Parsed, RendererError>
  /**
   * A parser that reads a response to these messages while it is sampled.
   *
   * @see tinker-cookbook `parse_response_streaming`
   */
  readonly stream: (conversation: ReadonlyArray<Message.Message>) => ResponseStream
  readonly supervisedExample: (
    messages: ReadonlyArray<Message.Message>,
    trainOnWhat: TrainOnWhat
  ) => Effect.Effect<SupervisedExample, RendererError>
  /**
   * The examples that train each chosen assistant message after the prompt from which it would be sampled: one example if the renderer has
   * the extension property, otherwise several. Fails for a `TrainOnWhat` mode that cannot be split this way.
   *
   * @see tinker-cookbook `build_supervised_examples`
   */
  readonly supervisedExamples: (
    messages: ReadonlyArray<Message.Message>,
    trainOnWhat: TrainOnWhat
  ) => Effect.Effect<ReadonlyArray<SupervisedExample>, RendererError>
  /** The messages at the beginning of a conversation that describe the tools to the model; absent if the model family has no tools. */
  readonly toolsPrefix?: (
    tools: ReadonlyArray<ToolSpec>,
    systemPrompt: string
  ) => Effect.Effect<ReadonlyArray<Message.Message>, RendererError>
  /** How responses write tool calls, if the calls are JSON that a grammar can constrain; absent otherwise. */
  readonly calls?: CallForm
}

/** A conversation ready to be rendered, and the tools that its first messages describe. */
export interface Offering {
  readonly messages: ReadonlyArray<Message.Message>
  /** The tools that the messages describe; absent if no tools were given. */
  readonly offered?: Offered
}

/**
 * Puts the messages that describe the tools before the conversation; they include its system message. Fails if the renderer's model family
 * has no tools.
 */
export const offering = Effect.fnUntraced(function*(
  { name, toolsPrefix }: Pick<Renderer, "name" | "toolsPrefix">,
  tools: ReadonlyArray<ToolSpec>,
  conversation: ReadonlyArray<Message.Message>
): Effect.fn.Return<Offering, RendererError> {
  if (tools.length === 0) return { messages: conversation }
  if (toolsPrefix === undefined) {
    return yield* new RendererError({
      renderer: name,
      detail: "has no tools; expected a renderer that has, such as qwen3"
    })
  }
  const [first, ...others] = conversation
  const hasSystem = first?.role === "system"
  const systemPrompt = hasSystem ? Message.text(first) : ""
  const prefix = yield* toolsPrefix(tools, systemPrompt)
  return {
    messages: [...prefix, ...(hasSystem ? others : conversation)],
    offered: { tools, messages: prefix.length, ...(systemPrompt !== "" && { systemPrompt }) }
  }
})

/** The messages of `offering`. */
export const withTools = (
  renderer: Pick<Renderer, "name" | "toolsPrefix">,
  tools: ReadonlyArray<ToolSpec>,
  conversation: ReadonlyArray<Message.Message>
): Effect.Effect<ReadonlyArray<Message.Message>, RendererError> =>
  Effect.map(offering(renderer, tools, conversation), ({ messages }) => messages)

/** Why a response cannot be acted on. */
export interface Failure {
  /** "structural": the response did not end properly. "content": it ended properly but contains tool calls that cannot be parsed. */
  readonly kind: "structural" | "content"
  readonly detail: string
}

const longestDetail = 16384

/**
 * The failure of a parsed response; `undefined` if it ended properly and all tool calls were parsed.
 *
 * @see tinker-cookbook `classify_parse_failure`
 */
export const failure = ({ message, termination }: Parsed): Failure | undefined => {
  if (termination === "malformed") return { kind: "structural", detail: `the response ended as ${termination}` }
  const unparsed = message.unparsedToolCalls ?? []
  if (unparsed.length === 0) return undefined
  return { kind: "content", detail: unparsed.map((call) => call.error).join("\n").slice(0, longestDetail) }
}
