/** The protocol of a conversation with a policy, and its options. */
import type * as Effect from "effect/Effect"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import type * as Message from "../../chat/Message.ts"
import type * as Renderer from "../../chat/Renderer.ts"
import type * as Sampling from "../../model/Sampling.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type * as Env from "../Env.ts"
import type { Limits } from "../Limits.ts"
import type { ParseErrorPolicy } from "./ParseErrorPolicy.ts"

export type Conversation = ReadonlyArray<Message.Message>

/** Facts about a turn besides its message. */
export interface Turn {
  /** Tool calls the episode may still make, where they are limited. */
  readonly toolCallsLeft?: number
}

export interface Continue extends Env.Reported {
  readonly _tag: "Continue"
  /** All messages so far, including those to be answered. */
  readonly messages: Conversation
  /** Where the next response must stop; where the renderer stops unless given. */
  readonly stop?: Sampling.Stop
}

/** @see tinker-cookbook `MessageStepResult` */
export type Step = Continue | Env.Done

/**
 * A conversation with a policy: messages in, rewards out. The optional members are further capabilities; options that need a missing
 * capability do not compile.
 *
 * @see tinker-cookbook `MessageEnv`
 */
export interface MessageEnv<out E = never, out R = never> {
  readonly initialMessages: Effect.Effect<Conversation, E, R>
  readonly step: (message: Message.Message, turn: Turn) => Effect.Effect<Step, E, R>
  /** Adds a response that was cut at its token limit to the conversation and continues. */
  readonly observeTruncated?: (message: Message.Message) => Effect.Effect<Conversation, E, R>
  /** Adds a response whose tool calls cannot be parsed, and the answer to it, if any; `undefined` where no turn is left. */
  readonly correct?: (
    message: Message.Message,
    correction: Message.Message | undefined
  ) => Effect.Effect<Conversation | undefined, E, R>
  /** Adds messages from outside the conversation. */
  readonly addMessages?: (messages: Conversation) => Effect.Effect<Conversation, E, R>
  /** Whether it reports its tool calls and makes no more than `toolCallsLeft`. */
  readonly countsToolCalls?: boolean
  /** The question and the expected answer, for readers of transcripts. */
  readonly task?: Env.Task
  /** Limits of its own. */
  readonly limits?: Limits
  /** Called once the episode is over, however it ends. */
  readonly leave?: Effect.Effect<void>
}

type Able<Capability extends keyof MessageEnv> = {
  readonly [K in Capability]: NonNullable<MessageEnv<unknown, unknown>[K]>
}

/** Options of every message environment. */
interface Reading {
  /** Reward of a response that cannot be parsed, unless `parseErrors` says otherwise; default −1. */
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

/** Options of a message environment with all capabilities. */
export interface Settings extends Reading {
  /** What follows when a response is cut at its token limit; default "stop". Going on needs `observeTruncated`. */
  readonly onLength?: "stop" | "continue"
  /** What follows when a response cannot be parsed; needs `correct`. */
  readonly parseErrors?: ParseErrorPolicy
}

export interface Model {
  readonly model: Pick<ChatModel, "renderer">
}

/** The options of a message environment of this type. */
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
