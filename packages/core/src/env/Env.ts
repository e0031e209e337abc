/** One episode: an environment that is used once. */
import * as Effect from "effect/Effect"
import type * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
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

/** Tokens an environment can judge. Only `SampledTokens` can be trained on. */
export interface Action {
  readonly tokens: Int32Array
  /** The log-probability of each token under the weights that sampled it. */
  readonly logprobs?: Float32Array
  /** Why the sampler stopped; "stop" unless given. */
  readonly stopReason?: Sampling.SampleStopReason
  /** Tool calls the episode may still make, where they are limited. */
  readonly toolCallsLeft?: number
}

/** What the policy sees next, and where it must stop. */
export interface Prompt {
  readonly _tag: "Prompt"
  readonly input: ModelInput.ModelInput
  readonly stop: Sampling.Stop
  /** A tighter limit of the tokens that this turn may sample. */
  readonly maxTokens?: number
  /** The grammar to which this turn is held. Such a turn is not trained on. */
  readonly grammar?: Grammar
  /** The conversation that it renders, for records and readers. */
  readonly messages?: ReadonlyArray<Message.Message>
  /** Given where it does not begin with the last prompt and its response: training then goes on with another sequence, or starts one. */
  readonly branch?: Branch
}

/** The first prompt would exceed the budget, so that the episode ends with this reward and without an action. */
export interface Overflow {
  readonly _tag: "Overflow"
  readonly reward: number
  readonly logs?: Readonly<Record<string, string | number>>
  /** Default "max_tokens"; "completed" where the other members finished before this member's first turn. */
  readonly stopReason?: StopReason
}

/** The question of an episode that has a single one, and the expected answer. */
export interface Task {
  readonly question?: string
  readonly reference?: string
}

/** What a step reports besides its reward: its score, aggregated metrics, and texts for display alone. */
export interface Reported {
  readonly reward: number
  /** The judgement behind the reward; a reward alone is the value of its score. */
  readonly score?: Score
  readonly metrics?: EnvMetric.Metrics
  readonly logs?: Readonly<Record<string, string | number>>
  /** The response as it was read, for an environment that reads more than text, such as calls of tools. */
  readonly said?: Message.Message
  /** The state of the environment in which the action was taken, for credit that compares turns in equal states. */
  readonly state?: Json
  /** False keeps this turn's tokens out of training; true unless given. */
  readonly trainable?: boolean
  /** Tool calls made in this step; none unless given. */
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

/** @see tinker-cookbook `StepResult` */
export type Step = Continue | Done

/**
 * A task for a policy: observe, act, be rewarded, until done. The optional members are further capabilities; a rollout that needs one
 * that its environment lacks fails before the first turn.
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
  /** Adds the messages, if any, to the conversation and shows it again; also called after `Done` where a hook lets the episode go on. */
  readonly inject?: (messages: ReadonlyArray<Message.Message>) => Effect.Effect<Prompt, E, R>
  /** Whether it reports its tool calls and makes no more than `toolCallsLeft`. */
  readonly countsToolCalls?: boolean
  /** The question and the expected answer, for readers of transcripts. */
  readonly task?: Task
  /** Limits of its own; the tighter of these and the caller's apply. */
  readonly limits?: Limits
  /** Called once the episode is over, however it ends: no step follows that another member could wait for. */
  readonly leave?: Effect.Effect<void>
}

/** A prompt that goes on after the turn before it, with the conversation that it renders. */
export const prompt = (
  input: ModelInput.ModelInput,
  stop: Sampling.Stop,
  messages?: ReadonlyArray<Message.Message>
): Prompt => ({ _tag: "Prompt", input, stop, ...(messages !== undefined && { messages }) })

/**
 * An environment with one prompt and one response, which it parses and judges; a step after that is a defect.
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

/** The errors of a builder; of a union of builders, all of theirs. */
export type Error<T> = [T] extends [EnvGroupBuilder<infer E, infer _R>] ? E : never

/** The requirements of a builder; of a union of builders, all of theirs. */
export type Requirements<T> = [T] extends [EnvGroupBuilder<infer _E, infer R>] ? R : never
