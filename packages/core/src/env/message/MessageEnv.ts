/**
 * Environments that read and write messages instead of tokens.
 *
 * @example
 * const env = MessageEnv.toEnv({
 *   initialMessages: Effect.succeed([Message.user("What is 2 + 2?")]),
 *   step: (message) => Effect.succeed({ _tag: "Done", reward: Message.text(message) === "4" ? 1 : 0 })
 * }, { model })
 */
import * as Effect from "effect/Effect"
import type * as Message from "../../chat/Message.ts"
import * as Renderer from "../../chat/Renderer.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import type * as Sampling from "../../model/Sampling.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import * as Branch from "../Branch.ts"
import * as Env from "../Env.ts"
import * as Continuation from "./Continuation.ts"
import type {
  Conversation,
  Error,
  MessageEnv,
  Model,
  Options,
  Requirements,
  Settings,
  TokenEnv
} from "./MessageProtocol.ts"
import * as ParseErrorPolicy from "./ParseErrorPolicy.ts"

export type * from "./MessageProtocol.ts"

/** The state of an episode: the conversation being shown, and the last finished turn. */
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

/** Renders the conversation and remembers what was shown. */
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
  const { offered } = self.env
  return { _tag: "Prompt", stop, messages, ...(offered !== undefined && { offered }), ...next }
})

/** Continues the episode with these messages if they fit into the token budget. */
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

/** Handles a response that was cut at its token limit: continues if `onLength` says so, otherwise ends the episode. */
const truncated = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>,
  { tokens }: Env.Action
): Effect.fn.Return<Env.Step, E | Renderer.RendererError, R> {
  const { env, options } = self
  if (options.onLength !== "continue" || env.observeTruncated === undefined) {
    return { _tag: "Done", reward: overflowReward(self), stopReason: "max_tokens" }
  }
  const { message } = yield* read(self, tokens)
  const logs = { truncated: "the response was cut at its token limit and the episode continued" }
  return yield* goOn(self, { reward: 0, logs }, yield* env.observeTruncated(message))
})

const read = <E, R>(self: Playing<E, R>, response: Int32Array) =>
  Effect.tap(self.renderer.parse(response), (parsed) =>
    Effect.sync(() => {
      self.answered = { messages: self.messages, input: self.input, response, parsed }
    }))

/** The report of a response that cannot be parsed. */
const unread = <E, R>({ options }: Playing<E, R>, { detail, kind }: Renderer.Failure): Env.Reported => ({
  reward: options.parseErrors === undefined ? options.failedParseReward ?? -1 : options.parseErrors.terminalReward ?? 0,
  metrics: { parse_error: EnvMetric.rate(true) },
  logs: { parse_error_kind: kind, parse_error: detail },
  ...(options.parseErrors?.maskErrorTurns === true && { trainable: false })
})

/** Handles a response that did not end properly and therefore cannot become part of the conversation. */
const malformed = <E, R>(self: Playing<E, R>, failure: Renderer.Failure): Env.Step => {
  const { parseErrors, terminateOnParseError = true } = self.options
  const reported = unread(self, failure)
  if (parseErrors !== undefined || terminateOnParseError) {
    return { ...reported, _tag: "Done", stopReason: "parse_error" }
  }
  return {
    ...reported,
    _tag: "Continue",
    observation: { ...Env.prompt(self.input, self.stop, self.messages), branch: Branch.anew("response") }
  }
}

/** Handles a response that ended properly but contains tool calls that cannot be parsed. */
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
    metrics: { parse_error: EnvMetric.rate(true), ...step.metrics },
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
  const { correct } = self.env
  if (failure !== undefined && correct !== undefined && (message.toolCalls ?? []).length === 0) {
    return yield* corrected(self, message, failure, correct)
  }
  self.parseErrorsInARow = 0
  const { toolCallsLeft } = action
  const given = yield* self.env.step(message, toolCallsLeft === undefined ? {} : { toolCallsLeft })
  const taken = withParseError(given, failure)
  if (taken._tag === "Done") return taken
  const { _tag: _, messages, stop, ...reported } = taken
  return yield* goOn(self, reported, messages, stop)
})

/** Handles one action. A step after the episode's end is a defect, unless `inject` has continued the episode. */
const stepOnce = <E, R>(self: Playing<E, R>, action: Env.Action) =>
  Effect.suspend(() =>
    self.isOver
      ? Effect.die(new Error("the episode is over"))
      : Effect.tap(step(self, action), ({ _tag }) =>
        Effect.sync(() => {
          self.isOver = _tag === "Done"
        }))
  )

const checks = (options: Model & Settings): ReadonlyArray<Check.Check> => [
  Check.option("failedParseReward", options.failedParseReward, Check.number()),
  Check.option("contextOverflowReward", options.contextOverflowReward, Check.number()),
  Check.option("maxTrajectoryTokens", options.maxTrajectoryTokens, Check.whole(1)),
  Check.option("maxGenerationTokens", options.maxGenerationTokens, Check.whole(0)),
  ...(options.parseErrors === undefined ? [] : ParseErrorPolicy.checks(options.parseErrors))
]

const optional = <E, R>(self: Playing<E, R>): Partial<Env.Env<E | Renderer.RendererError, R>> => {
  const { addMessages, countsToolCalls, leave, limits, task } = self.env
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
    ...(limits !== undefined && { limits }),
    ...(task !== undefined && { task })
  }
}

/**
 * Turns a message environment into a token environment. It renders the conversation with the model's renderer, parses the responses, and
 * keeps the sampled tokens unchanged (see `Continuation.next`). A response that is cut at its token limit ends the episode or becomes part
 * of the conversation. For a response that cannot be parsed, the episode ends, the conversation is shown again, or the policy gets an
 * answer, depending on the options. Fails with `InvalidOption` if an option is invalid. A prompt that no longer fits ends the episode with
 * `contextOverflowReward` instead of the step's reward; a first prompt that does not fit is an `Overflow`.
 *
 * @see tinker-cookbook `EnvFromMessageEnv`
 */
export function toEnv<M extends MessageEnv<unknown, unknown>>(
  env: M,
  options: Options<M>
): Effect.Effect<TokenEnv<Error<M>, Requirements<M>>, InvalidOption>
export function toEnv<E, R>(
  env: MessageEnv<E, R>,
  options: Model & Settings
): Effect.Effect<TokenEnv<E, R>, InvalidOption> {
  return Check.all(...checks(options)).pipe(
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
