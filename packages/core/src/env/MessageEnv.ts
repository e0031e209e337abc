/** An environment that speaks in messages. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../chat/ChatModel.ts"
import type * as Message from "../chat/Message.ts"
import * as Renderer from "../chat/Renderer.ts"
import * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import * as Metric from "../record/Metric.ts"
import * as Continuation from "./Continuation.ts"
import * as Env from "./Env.ts"
import * as EnvOptionError from "./EnvOptionError.ts"
import type { Limits } from "./Limits.ts"
import * as ParseErrorPolicy from "./ParseErrorPolicy.ts"

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
  readonly parseErrors?: ParseErrorPolicy.ParseErrorPolicy
}

interface Model {
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

/** What is on show, and the last turn that is over. */
interface Playing<E, R> {
  readonly env: MessageEnv<E, R>
  readonly options: Model & Settings
  readonly renderer: Renderer.Renderer
  messages: Conversation
  input: ModelInput.ModelInput
  stop: Sampling.Stop
  answered: Continuation.Turn | undefined
  parseErrorsInARow: number
  isOver: boolean
}

const overflowReward = <E, R>({ options }: Playing<E, R>) => options.contextOverflowReward ?? -0.1

const overflows = <E, R>({ options }: Playing<E, R>, input: ModelInput.ModelInput) =>
  options.maxTrajectoryTokens !== undefined &&
  input.length + (options.maxGenerationTokens ?? 0) > options.maxTrajectoryTokens

/** Renders the conversation, and remembers what was shown. */
const show = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>,
  messages: Conversation,
  stop: Sampling.Stop = self.renderer.stop
): Effect.fn.Return<Env.Prompt, Renderer.RendererError> {
  const { answered, renderer } = self
  const next: Continuation.Continued = answered === undefined
    ? { input: yield* renderer.generationPrompt(messages) }
    : yield* Continuation.next(renderer, answered, messages)
  self.messages = messages
  self.input = next.input
  self.stop = stop
  return { _tag: "Prompt", stop, ...next }
})

/** The episode goes on with these messages, if they fit. */
const goOn = <E, R>(
  self: Playing<E, R>,
  reported: Env.Reported,
  messages: Conversation,
  stop?: Sampling.Stop
): Effect.Effect<Env.Step, Renderer.RendererError> =>
  Effect.map(show(self, messages, stop), (observation) =>
    overflows(self, observation.input)
      ? { ...reported, _tag: "Done", reward: overflowReward(self), stopReason: "context_overflow" }
      : { ...reported, _tag: "Continue", observation })

const initial = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>
): Effect.fn.Return<Env.Prompt | Env.Overflow, E | Renderer.RendererError, R> {
  const prompt = yield* show(self, yield* self.env.initialMessages)
  if (!overflows(self, prompt.input)) return prompt
  const { maxGenerationTokens = 0, maxTrajectoryTokens } = self.options
  const overflow =
    `a prompt of ${prompt.input.length} tokens and ${maxGenerationTokens} after it do not fit into ${maxTrajectoryTokens}`
  return { _tag: "Overflow", reward: overflowReward(self), logs: { overflow } }
})

/** The response was cut at its token limit. */
const truncated = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>,
  { tokens }: Env.Action
): Effect.fn.Return<Env.Step, E | Renderer.RendererError, R> {
  const { env, options } = self
  if (options.onLength !== "continue" || env.observeTruncated === undefined) {
    return { _tag: "Done", reward: overflowReward(self), stopReason: "max_tokens" }
  }
  const { message } = yield* read(self, tokens)
  const logs = { truncated: "the response was cut at its token limit and the episode went on" }
  return yield* goOn(self, { reward: 0, logs }, yield* env.observeTruncated(message))
})

const read = <E, R>(self: Playing<E, R>, response: Int32Array) =>
  Effect.tap(self.renderer.parse(response), (parsed) =>
    Effect.sync(() => {
      self.answered = { messages: self.messages, input: self.input, response, parsed }
    }))

/** What is said of a response that cannot be read. */
const unread = <E, R>({ options }: Playing<E, R>, { detail, kind }: Renderer.Failure): Env.Reported => ({
  reward: options.parseErrors === undefined ? options.failedParseReward ?? -1 : options.parseErrors.terminalReward ?? 0,
  metrics: { parse_error: Metric.rate(true) },
  logs: { parse_error_kind: kind, parse_error: detail },
  ...(options.parseErrors?.maskErrorTurns === true && { trainable: false })
})

/** The response did not end as it should, so that it cannot become part of the conversation. */
const malformed = <E, R>(self: Playing<E, R>, failure: Renderer.Failure): Env.Step => {
  const { parseErrors, terminateOnParseError = true } = self.options
  const reported = unread(self, failure)
  if (parseErrors !== undefined || terminateOnParseError) {
    return { ...reported, _tag: "Done", stopReason: "parse_error" }
  }
  return { ...reported, _tag: "Continue", observation: { ...Env.prompt(self.input, self.stop), fork: "response" } }
}

/** The response ended well, but nothing in it can be acted on. */
const corrected = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>,
  message: Message.Message,
  failure: Renderer.Failure,
  correct: NonNullable<MessageEnv<E, R>["correct"]>
): Effect.fn.Return<Env.Step, E | Renderer.RendererError, R> {
  const { parseErrors, terminateOnParseError = true } = self.options
  const reported = unread(self, failure)
  const tries = parseErrors === undefined ? (terminateOnParseError ? 0 : Infinity) : parseErrors.maxConsecutive ?? 0
  const messages = ++self.parseErrorsInARow > tries
    ? undefined
    : yield* correct(message, parseErrors && ParseErrorPolicy.correction(parseErrors, failure))
  if (messages === undefined) return { ...reported, _tag: "Done", stopReason: "parse_error" }
  const reward = parseErrors === undefined ? reported.reward : 0 - (parseErrors.penaltyPerError ?? 0)
  return yield* goOn(self, { ...reported, reward }, messages)
})

const withParseError = <S extends Env.Reported>(step: S, failure: Renderer.Failure | undefined): S =>
  failure === undefined ? step : {
    ...step,
    metrics: { parse_error: Metric.rate(true), ...step.metrics },
    logs: { parse_error: failure.detail, ...step.logs }
  }

const step = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>,
  action: Env.Action
): Effect.fn.Return<Env.Step, E | Renderer.RendererError, R> {
  if (action.stopReason === "length") return yield* truncated(self, action)
  const parsed = yield* read(self, action.tokens)
  const { message } = parsed
  const failure = Renderer.failure(parsed)
  if (failure?.kind === "structural") return malformed(self, failure)
  if (failure !== undefined && message.toolCalls === undefined && self.env.correct !== undefined) {
    return yield* corrected(self, message, failure, self.env.correct)
  }
  self.parseErrorsInARow = 0
  const { toolCallsLeft } = action
  const given = yield* self.env.step(message, toolCallsLeft === undefined ? {} : { toolCallsLeft })
  const taken = withParseError(given, failure)
  if (taken._tag === "Done") return taken
  const { _tag: _, messages, stop, ...reported } = taken
  return yield* goOn(self, reported, messages, stop)
})

/** No step follows the last, unless the conversation was shown again. */
const stepOnce = <E, R>(self: Playing<E, R>, action: Env.Action) =>
  Effect.suspend(() =>
    self.isOver
      ? Effect.die(new Error("the episode is over"))
      : Effect.tap(step(self, action), ({ _tag }) =>
        Effect.sync(() => {
          self.isOver = _tag === "Done"
        }))
  )

const rules = (options: Model & Settings): ReadonlyArray<EnvOptionError.Rule> => [
  EnvOptionError.finite("failedParseReward", options.failedParseReward),
  EnvOptionError.finite("contextOverflowReward", options.contextOverflowReward),
  EnvOptionError.positive("maxTrajectoryTokens", options.maxTrajectoryTokens),
  EnvOptionError.count("maxGenerationTokens", options.maxGenerationTokens),
  ...(options.parseErrors === undefined ? [] : ParseErrorPolicy.rules(options.parseErrors))
]

const optional = <E, R>(self: Playing<E, R>): Partial<Env.Env<E | Renderer.RendererError, R>> => {
  const { addMessages, countsToolCalls, leave, limits } = self.env
  return {
    ...(addMessages !== undefined && {
      inject: (messages) =>
        Effect.flatMap(addMessages(messages), (all) => {
          self.isOver = false
          return show(self, all, self.stop)
        })
    }),
    ...(countsToolCalls !== undefined && { countsToolCalls }),
    ...(leave !== undefined && { leave }),
    ...(limits !== undefined && { limits })
  }
}

/** An environment that may fail for its conversation, its renderer, or, before all, what was asked of it. */
export type TokenEnv<E, R> = Env.Env<E | Renderer.RendererError | EnvOptionError.EnvOptionError, R>

/**
 * The environment of tokens behind a conversation: shows it through the model's renderer, reads what was sampled, and keeps
 * what was sampled as it was (see `Continuation.next`). A length limit ends the episode, or is taken in; what cannot be read
 * ends it, is shown again, or is answered; a prompt that no longer fits ends it with `contextOverflowReward` in place of the
 * step's own. One that does not fit at the start is an `Overflow`.
 *
 * @see tinker-cookbook `EnvFromMessageEnv`
 */
export function toEnv<M extends MessageEnv<unknown, unknown>>(
  env: M,
  options: Options<M>
): Effect.Effect<TokenEnv<Error<M>, Requirements<M>>, EnvOptionError.EnvOptionError>
export function toEnv<E, R>(
  env: MessageEnv<E, R>,
  options: Model & Settings
): Effect.Effect<TokenEnv<E, R>, EnvOptionError.EnvOptionError> {
  return EnvOptionError.check(rules(options)).pipe(
    Effect.map(() => {
      const { renderer } = options.model
      const self: Playing<E, R> = {
        env,
        options,
        renderer,
        messages: [],
        input: ModelInput.empty,
        stop: renderer.stop,
        answered: undefined,
        parseErrorsInARow: 0,
        isOver: false
      }
      return { ...optional(self), initialObservation: initial(self), step: (action) => stepOnce(self, action) }
    })
  )
}
