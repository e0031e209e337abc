/** Environments. Each one plays a single episode. */
import * as Effect from "effect/Effect"
import type * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import type { Offered } from "../chat/ToolSpec.ts"
import type { Grammar } from "../model/Grammar.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as EnvMetric from "../records/EnvMetric.ts"
import type { Json } from "../records/Json.ts"
import type { Score } from "../records/Score.ts"
import type { Branch } from "./Branch.ts"
import type { EnvGroupBuilder } from "./EnvGroupBuilder.ts"
import type { Limits } from "./Limits.ts"
import type { StopReason } from "./StopReason.ts"

/** Tokens that an environment judges. Only `SampledTokens` can be trained on. */
export interface Action {
  readonly tokens: Int32Array
  /** The log-probability of each token under the weights from which it was sampled. */
  readonly logprobs?: Float32Array
  /** Why the sampler stopped. Default: "stop". */
  readonly stopReason?: Sampling.SampleStopReason
  /** Tool calls that the episode may still make, if they are limited. */
  readonly toolCallsLeft?: number
}

/** The policy's next prompt, and where its response must stop. */
export interface Prompt {
  readonly _tag: "Prompt"
  readonly input: ModelInput.ModelInput
  readonly stop: Sampling.Stop
  /** Maximum number of tokens for this turn, if it is lower than the sampling limit. */
  readonly maxTokens?: number
  /** A grammar that constrains this turn. The turn is then not trained on. */
  readonly grammar?: Grammar
  /** The conversation that the prompt renders, for records and transcripts. */
  readonly messages?: ReadonlyArray<Message.Message>
  /** The tools that the first of these messages describe; absent if there are none. */
  readonly offered?: Offered
  /**
   * Set if the prompt does not begin with the previous prompt and its response. Training then continues another sequence or starts a new
   * one.
   */
  readonly branch?: Branch
}

/** An episode that ends before its first action, with this reward; by default because the first prompt exceeds the token budget. */
export interface Overflow {
  readonly _tag: "Overflow"
  readonly reward: number
  readonly logs?: Readonly<Record<string, string | number>>
  /** Why the episode ended. Default: "max_tokens"; "completed" if other members finished before this member's first turn. */
  readonly stopReason?: StopReason
}

/** The question of a single-question episode, and the expected answer. */
export interface Task {
  readonly question?: string
  readonly reference?: string
}

/** What a step reports besides its reward: a score, metrics to aggregate, and texts for display. */
export interface Reported {
  readonly reward: number
  /** The judgement behind the reward. Default: a score whose value is the reward. */
  readonly score?: Score
  readonly metrics?: EnvMetric.Metrics
  readonly logs?: Readonly<Record<string, string | number>>
  /** The parsed response, from an environment that parses more than text, such as tool calls. */
  readonly said?: Message.Message
  /** The environment's state in which the action was taken, for credit assignment that compares turns in equal states. */
  readonly state?: Json
  /** Whether this turn's tokens may be trained on. Default: true. */
  readonly trainable?: boolean
  /** Tool calls made in this step. Default: none. */
  readonly toolCalls?: number
}

/** A step after which the episode continues. */
export interface Continue extends Reported {
  readonly _tag: "Continue"
  readonly observation: Prompt
}

/** A step that ends the episode. */
export interface Done extends Reported {
  readonly _tag: "Done"
  readonly stopReason?: StopReason
}

/** The result of a step: the episode continues or ends. @see tinker-cookbook `StepResult` */
export type Step = Continue | Done

/**
 * A task for a policy: observe, act and get rewards until done. The optional members are capabilities; a rollout that needs a missing one
 * fails before the first turn.
 *
 * @example
 * const env: Env.Env = {
 *   initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens(tokenizer.encode("2 + 2 =")), ["\n"])),
 *   step: ({ tokens }) => Effect.succeed({ _tag: "Done", reward: tokenizer.decode(tokens).trim() === "4" ? 1 : 0 })
 * }
 *
 * @see tinker-cookbook `Env`
 */
export interface Env<out E = never, out R = never> {
  readonly initialObservation: Effect.Effect<Prompt | Overflow, E, R>
  readonly step: (action: Action) => Effect.Effect<Step, E, R>
  /**
   * Adds the messages, if any, to the conversation and returns the next prompt. Also called after `Done` if a hook continues the episode.
   */
  readonly inject?: (messages: ReadonlyArray<Message.Message>) => Effect.Effect<Prompt, E, R>
  /** Whether the environment reports its tool calls and makes no more than `toolCallsLeft`. */
  readonly countsToolCalls?: boolean
  /** The question and the expected answer, for transcripts. */
  readonly task?: Task
  /** The environment's own limits. The tighter of these and the caller's limits apply. */
  readonly limits?: Limits
  /** Runs when the episode is over, however it ends. No step follows, so other members must not wait for one. */
  readonly leave?: Effect.Effect<void>
}

/** A prompt that continues the previous turn, with the conversation that it renders. */
export const prompt = (
  input: ModelInput.ModelInput,
  stop: Sampling.Stop,
  messages?: ReadonlyArray<Message.Message>
): Prompt => ({ _tag: "Prompt", input, stop, ...(messages !== undefined && { messages }) })

/**
 * An environment with one prompt and one response, which it parses and judges. A second step is a defect.
 *
 * @example
 * const env = Env.singleTurn(model.renderer, messages, ({ message }) =>
 *   Effect.succeed({ _tag: "Done", reward: Message.text(message).length < 100 ? 1 : 0 }))
 */
export const singleTurn = <E, R>(
  renderer: Renderer.Renderer,
  messages: ReadonlyArray<Message.Message>,
  judge: (response: Renderer.Parsed, action: Action) => Effect.Effect<Done, E, R>
): Env<E | Renderer.RendererError, R> => {
  let isOver = false
  return {
    initialObservation: Effect.map(
      renderer.generationPrompt(messages),
      (input) => prompt(input, renderer.stop, messages)
    ),
    step: Effect.fnUntraced(function*(action) {
      if (isOver) return yield* Effect.die(new Error("the episode is over"))
      const judged = yield* judge(yield* renderer.parse(action.tokens), action)
      isOver = true
      return judged
    })
  }
}

/** The error type of a builder, or the union of the error types of several builders. */
export type Error<T> = [T] extends [EnvGroupBuilder<infer E, infer _R>] ? E : never

/** The requirements of a builder, or the union of the requirements of several builders. */
export type Requirements<T> = [T] extends [EnvGroupBuilder<infer _E, infer R>] ? R : never
