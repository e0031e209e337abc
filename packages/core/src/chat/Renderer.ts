/** Messages to the tokens a model was trained on, and back. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as Message from "./Message.ts"

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

export interface GenerationOptions {
  /** Who speaks next; "assistant" unless given. */
  readonly role?: string
  /** The beginning of the response, already decided. */
  readonly prefill?: string
}

/** @see tinker-cookbook `Renderer` */
export interface Renderer {
  readonly name: string
  readonly stop: Sampling.Stop
  /** Each later prompt begins with the earlier prompt and response, token for token. */
  readonly hasExtensionProperty: boolean
  readonly generationPrompt: (
    messages: ReadonlyArray<Message.Message>,
    options?: GenerationOptions
  ) => Effect.Effect<ModelInput.ModelInput, RendererError>
  readonly parse: (tokens: Int32Array) => Effect.Effect<Parsed, RendererError>
  readonly supervisedExample: (
    messages: ReadonlyArray<Message.Message>,
    trainOnWhat: TrainOnWhat
  ) => Effect.Effect<SupervisedExample, RendererError>
}
