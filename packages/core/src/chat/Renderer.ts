/** Renderers: from messages to the tokens that a model was trained on, and back. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { CallForm } from "./CallForm.ts"
import * as Message from "./Message.ts"
import type { ResponseStream } from "./ResponseStream.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** A conversation cannot be written, or a response cannot be read. */
export class RendererError extends Schema.TaggedError<RendererError>()("RendererError", {
  renderer: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `renderer "${this.renderer}": ${this.detail}`
  }
}

/**
 * How a response ended: at the renderer's own stop, at the model's end of text, or at neither.
 *
 * @see tinker-cookbook `ParseTermination`
 */
export type Termination = "stop_sequence" | "eos" | "malformed"

/** The message of a response, and how the response ended. */
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

/** `weights[t]` belongs to position `t` of the input, before any shift. */
export interface SupervisedExample {
  readonly input: ModelInput.ModelInput
  readonly weights: Float32Array
}

/** Options of a prompt. */
export interface GenerationOptions {
  /** The role that speaks next; "assistant" unless given. */
  readonly role?: string
  /** The beginning of the response, already decided. */
  readonly prefill?: string
}

/**
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
   * Reads a response to these messages while it is sampled.
   *
   * @see tinker-cookbook `parse_response_streaming`
   */
  readonly stream: (conversation: ReadonlyArray<Message.Message>) => ResponseStream
  readonly supervisedExample: (
    messages: ReadonlyArray<Message.Message>,
    trainOnWhat: TrainOnWhat
  ) => Effect.Effect<SupervisedExample, RendererError>
  /**
   * The examples that train each chosen assistant message after the prompt it is sampled from: one for a renderer with the extension
   * property, otherwise several. Fails for a mode that cannot be split this way.
   *
   * @see tinker-cookbook `build_supervised_examples`
   */
  readonly supervisedExamples: (
    messages: ReadonlyArray<Message.Message>,
    trainOnWhat: TrainOnWhat
  ) => Effect.Effect<ReadonlyArray<SupervisedExample>, RendererError>
  /** The messages before a conversation that tell the model about its tools; absent where a family has no tools. */
  readonly toolsPrefix?: (
    tools: ReadonlyArray<ToolSpec>,
    systemPrompt: string
  ) => Effect.Effect<ReadonlyArray<Message.Message>, RendererError>
  /** How responses call tools, where calls are JSON that a grammar can hold; absent for families that write them otherwise. */
  readonly calls?: CallForm
}

/**
 * The conversation after the messages that tell the model about its tools, which take up its system message. Fails where the renderer's
 * family has no tools.
 */
export const withTools = Effect.fnUntraced(function*(
  { name, toolsPrefix }: Pick<Renderer, "name" | "toolsPrefix">,
  tools: ReadonlyArray<ToolSpec>,
  conversation: ReadonlyArray<Message.Message>
): Effect.fn.Return<ReadonlyArray<Message.Message>, RendererError> {
  if (tools.length === 0) return conversation
  if (toolsPrefix === undefined) {
    return yield* new RendererError({
      renderer: name,
      detail: "has no tools; expected a renderer that has, such as qwen3"
    })
  }
  const [first, ...others] = conversation
  const hasSystem = first?.role === "system"
  const prefix = yield* toolsPrefix(tools, hasSystem ? Message.text(first) : "")
  return [...prefix, ...(hasSystem ? others : conversation)]
})

/** Why a response cannot be acted on as it stands. */
export interface Failure {
  /** The response did not end properly ("structural"), or it ended properly but contains tool calls that cannot be read ("content"). */
  readonly kind: "structural" | "content"
  readonly detail: string
}

const longestDetail = 16384

/** `undefined` for a well-ended response whose tool calls were all read. @see tinker-cookbook `classify_parse_failure` */
export const failure = ({ message, termination }: Parsed): Failure | undefined => {
  if (termination === "malformed") return { kind: "structural", detail: `the response ended as ${termination}` }
  const unparsed = message.unparsedToolCalls ?? []
  if (unparsed.length === 0) return undefined
  return { kind: "content", detail: unparsed.map((call) => call.error).join("\n").slice(0, longestDetail) }
}
