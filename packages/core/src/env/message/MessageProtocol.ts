/** The protocol of a conversation between an environment and a policy, and its options. */
import type * as Effect from "effect/Effect"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import type * as Message from "../../chat/Message.ts"
import type * as Renderer from "../../chat/Renderer.ts"
import type { Offered } from "../../chat/ToolSpec.ts"
import type * as Sampling from "../../model/Sampling.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type * as Env from "../Env.ts"
import type { Limits } from "../Limits.ts"
import type { ParseErrorPolicy } from "./ParseErrorPolicy.ts"

export type Conversation = ReadonlyArray<Message.Message>

/** Properties of a turn other than its message. */
export interface Turn {
  /** Tool calls that the episode may still make, if they are limited. */
  readonly toolCallsLeft?: number
}

export interface Continue extends Env.Reported {
  readonly _tag: "Continue"
  /** All messages so far, including those to be answered. */
  readonly messages: Conversation
  /** Where the next response must stop. Default: at the renderer's stop. */
  readonly stop?: Sampling.Stop
}

/** The result of a step: the conversation continues with new messages, or ends. @see tinker-cookbook `MessageStepResult` */
export type Step = Continue | Env.Done

/**
 * A conversation with a policy: it gets messages and returns rewards. The optional members are capabilities; options that need a missing
 * one do not compile.
 *
 * @see tinker-cookbook `MessageEnv`
 */
export interface MessageEnv<out E = never, out R = never> {
  readonly initialMessages: Effect.Effect<Conversation, E, R>
  readonly step: (message: Message.Message, turn: Turn) => Effect.Effect<Step, E, R>
  /** Adds a response that was cut at its token limit to the conversation, and returns the conversation with which the episode continues. */
  readonly observeTruncated?: (message: Message.Message) => Effect.Effect<Conversation, E, R>
  /**
   * Adds a response whose tool calls cannot be parsed, and the answer to it, if any. Returns the conversation with which the episode
   * continues; `undefined` if no turn is left.
   */
  readonly correct?: (
    message: Message.Message,
    correction: Message.Message | undefined
  ) => Effect.Effect<Conversation | undefined, E, R>
  /** Adds messages from outside the conversation, such as a hook's, and returns the whole conversation. */
  readonly addMessages?: (messages: Conversation) => Effect.Effect<Conversation, E, R>
  /** Whether the environment reports its tool calls and makes no more than `toolCallsLeft`. */
  readonly countsToolCalls?: boolean
  /** The question and the expected answer, for transcripts. */
  readonly task?: Env.Task
  /** The tools that the first messages describe, for transcripts. */
  readonly offered?: Offered
  /** The environment's own limits. The tighter of these and the caller's limits apply. */
  readonly limits?: Limits
  /** Runs when the episode is over, however it ends. */
  readonly leave?: Effect.Effect<void>
}

type Able<Capability extends keyof MessageEnv> = {
  readonly [K in Capability]: NonNullable<MessageEnv<unknown, unknown>[K]>
}

/** Options of every message environment. */
interface Reading {
  /** Reward of a response that cannot be parsed, unless `parseErrors` says otherwise. Default: −1. */
  readonly failedParseReward?: number
  /** Whether a response that cannot be parsed ends the episode; if not, the conversation is shown again. Default: true. */
  readonly terminateOnParseError?: boolean
  /** Maximum length of a prompt plus `maxGenerationTokens`. A longer prompt ends the episode with `contextOverflowReward`. */
  readonly maxTrajectoryTokens?: number
  /** Tokens kept free for the response. Default: 0. */
  readonly maxGenerationTokens?: number
  /** Reward if the prompt no longer fits, or if a response that was cut ends the episode. Default: −0.1. */
  readonly contextOverflowReward?: number
}

/** Options of a message environment with all capabilities. */
export interface Settings extends Reading {
  /** What to do if a response is cut at its token limit: end the episode or continue, which needs `observeTruncated`. Default: "stop". */
  readonly onLength?: "stop" | "continue"
  /** What to do if a response cannot be parsed; needs `correct`. */
  readonly parseErrors?: ParseErrorPolicy
}

export interface Model {
  readonly model: Pick<ChatModel, "renderer">
}

/** The options that a message environment of this type accepts. */
export type Options<M> =
  & Model
  & Reading
  & (M extends Able<"observeTruncated"> ? Pick<Settings, "onLength"> : { readonly onLength?: "stop" })
  & (M extends Able<"correct"> ? Pick<Settings, "parseErrors"> : { readonly parseErrors?: never })

/** The error type of a message environment, or the union for several environments. */
export type Error<M> = [M] extends [MessageEnv<infer E, infer _R>] ? E : never

/** The requirements of a message environment, or the union for several environments. */
export type Requirements<M> = [M] extends [MessageEnv<infer _E, infer R>] ? R : never

/** The token environment of a conversation. It adds the errors of the renderer and of invalid options. */
export type TokenEnv<E, R> = Env.Env<E | Renderer.RendererError | InvalidOption, R>
