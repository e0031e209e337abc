/** What a conversation with a policy is made of, and what can be asked of it. */
import type * as Effect from "effect/Effect"
import type { ChatModel } from "../chat/ChatModel.ts"
import type * as Message from "../chat/Message.ts"
import type * as Renderer from "../chat/Renderer.ts"
import type * as Sampling from "../model/Sampling.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import type * as Env from "./Env.ts"
import type { Limits } from "./Limits.ts"
import type { ParseErrorPolicy } from "./ParseErrorPolicy.ts"

export type Conversation = ReadonlyArray<Message.Message>

/** What is known of a turn besides its message. */
export interface Turn {
  /** Tool calls the episode may still make, where they are limited. */
  readonly toolCallsLeft?: number
}

export interface Continue extends Env.Reported {
  readonly _tag: "Continue"
  /** All messages so far, those to be answered included. */
  readonly messages: Conversation
  /** Where the next response must stop; where the renderer stops unless given. */
  readonly stop?: Sampling.Stop
}

/** @see tinker-cookbook `MessageStepResult` */
export type Step = Continue | Env.Done

/**
 * A conversation with a policy: messages in, rewards out. The optional members are what it can do besides; what it cannot do
 * cannot be asked of it.
 *
 * @see tinker-cookbook `MessageEnv`
 */
export interface MessageEnv<out E = never, out R = never> {
  readonly initialMessages: Effect.Effect<Conversation, E, R>
  readonly step: (message: Message.Message, turn: Turn) => Effect.Effect<Step, E, R>
  /** Takes in a response that was cut at its token limit and goes on. */
  readonly observeTruncated?: (message: Message.Message) => Effect.Effect<Conversation, E, R>
  /** Takes in a response whose tool calls cannot be read and the answer to it, if any; `undefined` where no turn is left. */
  readonly correct?: (
    message: Message.Message,
    correction: Message.Message | undefined
  ) => Effect.Effect<Conversation | undefined, E, R>
  /** Adds messages of somebody else. */
  readonly addMessages?: (messages: Conversation) => Effect.Effect<Conversation, E, R>
  /** It reports its tool calls and makes no more than `toolCallsLeft`. */
  readonly countsToolCalls?: boolean
  /** Limits it wants to be played under. */
  readonly limits?: Limits
  /** Called once the episode is over, however it ends. */
  readonly leave?: Effect.Effect<void>
}

type Able<Capability extends keyof MessageEnv> = {
  readonly [K in Capability]: NonNullable<MessageEnv<unknown, unknown>[K]>
}

/** What can be asked of any of them. */
interface Reading {
  /** Reward of a response that cannot be read, unless `parseErrors` says otherwise; default −1. */
  readonly failedParseReward?: number
  /** Whether such a response ends the episode; default true. If not, the conversation is shown again. */
  readonly terminateOnParseError?: boolean
  /** The episode ends with `contextOverflowReward` where a prompt and `maxGenerationTokens` after it would be longer. */
  readonly maxTrajectoryTokens?: number
  /** Tokens kept free for the response; default 0. */
  readonly maxGenerationTokens?: number
  /** Default −0.1; also the reward of a response that was cut, where that ends the episode. */
  readonly contextOverflowReward?: number
}

/** What can be asked of one that can do everything. */
export interface Settings extends Reading {
  /** What follows when a response is cut at its token limit; default "stop". Going on needs `observeTruncated`. */
  readonly onLength?: "stop" | "continue"
  /** What follows when a response cannot be read; needs `correct`. */
  readonly parseErrors?: ParseErrorPolicy
}

export interface Model {
  readonly model: Pick<ChatModel, "renderer">
}

/** What can be asked of an environment of this type. */
export type Options<M> =
  & Model
  & Reading
  & (M extends Able<"observeTruncated"> ? Pick<Settings, "onLength"> : { readonly onLength?: "stop" })
  & (M extends Able<"correct"> ? Pick<Settings, "parseErrors"> : { readonly parseErrors?: never })

/** The errors of a message environment; of a union of them, all of theirs. */
export type Error<M> = [M] extends [MessageEnv<infer E, infer _R>] ? E : never

/** The requirements of a message environment; of a union of them, all of theirs. */
export type Requirements<M> = [M] extends [MessageEnv<infer _E, infer R>] ? R : never

/** The environment of tokens: its errors are those of the conversation, of the renderer, and of an invalid option. */
export type TokenEnv<E, R> = Env.Env<E | Renderer.RendererError | InvalidOption, R>
