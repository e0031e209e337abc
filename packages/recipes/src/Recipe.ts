/** A task with all that is needed to train on it. Names no backend. */
import type { ChatModel, InvalidOption, Renderer, RolloutError, TinkerError, ToolEnv, Train } from "@effect-rl/core"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"

/** What the environments of a task fail with. */
export type EnvError = Renderer.RendererError | InvalidOption.InvalidOption | ToolEnv.GraderTimedOut

export type EvaluationError = EnvError | TinkerError.TinkerError | RolloutError.RolloutError

/** A recipe's task, put together for one model. */
export interface Task {
  readonly config: Train.Config<EnvError, never, EvaluationError>
  /** Most turns of an episode; 1 unless given. */
  readonly turns?: number
  /** The answer to the problem in a prompt's text, for scripted policies. */
  readonly answerTo: (prompt: string) => Option.Option<string>
}

/** Names the model to train, among others; see `TrainingSettings`. */
export interface BaseSettings {
  readonly model: string
  readonly seed: number
}

/** `settings` are made of `Setting`s, each with a default, so that `{}` decodes. */
export interface Recipe<A extends BaseSettings, out E = never, out R = never> {
  readonly name: string
  readonly description: string
  /** What keeps the embedded engine from training it, where something does, and what to do instead. */
  readonly onEngine?: string
  readonly settings: Schema.Decoder<A> & { readonly fields: Readonly<Record<string, Schema.Decoder<unknown>>> }
  readonly build: (model: ChatModel.ChatModel, settings: A) => Effect.Effect<Task, E, R>
}

export const make = <A extends BaseSettings, E, R>(recipe: Recipe<A, E, R>): Recipe<A, E, R> => recipe
