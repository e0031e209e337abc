/** A task that the policy solves by calling tools. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import * as Message from "../../chat/Message.ts"
import * as Renderer from "../../chat/Renderer.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { GroupReward } from "../EnvGroupBuilder.ts"
import * as Grader from "../Grader.ts"
import * as Limits from "../Limits.ts"
import type { StopReason } from "../StopReason.ts"
import type * as FunctionTool from "./FunctionTool.ts"
import * as MessageEnv from "./MessageEnv.ts"
import * as ToolCalls from "./ToolCalls.ts"

/**
 * The task-independent settings of an environment with tools. The default of `failedParseReward` is −0.1. The default of `onLength` is
 * "continue" if `limits` has a limit on tokens, otherwise "stop".
 */
export interface Settings extends MessageEnv.Settings {
  /** Number of turns after which the episode ends and is graded. Default: `limits.maxTurns`, or 5. */
  readonly maxTurns?: number
  /**
   * Limit on the tool calls of all turns together. If a message asks for more, the calls up to the limit are made and the episode ends.
   * Default: no limit.
   */
  readonly maxToolCalls?: number
  /** Whether the calls of a message run in parallel or one by one. Answers keep the order of the calls. Default: "parallel". */
  readonly execution?: ToolCalls.Execution
  /** Other limits of the episode. Default: none. */
  readonly limits?: Limits.Limits
  /** The messages that the grader gets: all, or only those after the first prompt. Default: "all". */
  readonly graded?: "all" | "new"
}

/** A task with its tools and grader. */
export interface Options<T extends FunctionTool.FunctionTool<unknown, unknown>, E, R> extends Settings {
  /** Renders the messages and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** The tools that the model may call. */
  readonly tools: ReadonlyArray<T>
  /** The system prompt. The renderer adds the descriptions of the tools to it. */
  readonly systemPrompt?: string
  /** The messages that state the task. */
  readonly messages: ReadonlyArray<Message.Message>
  /** The expected answer, for transcripts. */
  readonly reference?: string
  /** Called once, when the policy calls no tool, a tool ends the episode, the turns are used up, or the limit on tool calls is exceeded. */
  readonly grade: (messages: ReadonlyArray<Message.Message>) => Effect.Effect<GroupReward, E, R>
}

const defaultMaxTurns = 5

/** The state of a running conversation. */
interface Talk<E, R> {
  readonly options: Settings & Pick<Options<never, E, R>, "grade">
  readonly tools: ToolCalls.Tools<E, R>
  readonly initial: MessageEnv.Conversation
  readonly maxTurns: number
  messages: MessageEnv.Conversation
  turns: number
  toolCalls: number
}

const add = <E, R>(talk: Talk<E, R>, ...messages: MessageEnv.Conversation) => {
  talk.messages = [...talk.messages, ...messages]
  return talk.messages
}

const grade = <E, R>({ initial, messages, options: { grade, graded } }: Talk<E, R>) =>
  Grader.run(grade(graded === "new" ? messages.slice(initial.length) : messages))

const callsLeft = <E, R>({ options, toolCalls }: Talk<E, R>, { toolCallsLeft = Infinity }: MessageEnv.Turn) =>
  Math.max(0, Math.min((options.maxToolCalls ?? Infinity) - toolCalls, toolCallsLeft))

const step = Effect.fnUntraced(function*<E, R>(
  talk: Talk<E, R>,
  message: Message.Message,
  turn: MessageEnv.Turn
): Effect.fn.Return<MessageEnv.Step, E, R> {
  const asked = message.toolCalls ?? []
  const calls = asked.slice(0, callsLeft(talk, turn))
  const dropped = asked.length - calls.length
  const answered = yield* ToolCalls.run(talk.tools, calls, talk.options.execution ?? "parallel")
  talk.turns++
  talk.toolCalls += calls.length
  add(talk, message, ...answered.messages)
  const reported = {
    reward: 0,
    toolCalls: calls.length,
    metrics: answered.metrics,
    logs: {
      assistant_content: Message.text(message),
      ...answered.logs,
      ...(dropped > 0 && { tool_calls_dropped: dropped })
    }
  }
  const stopReason = stopReasonOf(talk, asked.length, answered.stop, dropped)
  if (stopReason === undefined) return { ...reported, _tag: "Continue", messages: talk.messages }
  const { metrics = {}, ...graded } = yield* grade(talk)
  return { ...reported, _tag: "Done", stopReason, ...graded, metrics: EnvMetric.merge(answered.metrics, metrics) }
})

/** Why the episode ends after a turn: the first reason that applies, in this order; undefined if the episode continues. */
const stopReasonOf = <E, R>(
  { maxTurns, turns }: Talk<E, R>,
  asked: number,
  isStopped: boolean,
  dropped: number
): StopReason | undefined => {
  if (asked === 0) return "completed"
  if (isStopped) return "tool_stopped"
  if (dropped > 0) return "max_tool_calls"
  return turns >= maxTurns ? "max_turns" : undefined
}

const conversation = <E, R>(talk: Talk<E, R>) => ({
  initialMessages: Effect.sync(() => talk.messages),
  step: (message: Message.Message, turn: MessageEnv.Turn) => step(talk, message, turn),
  observeTruncated: (message: Message.Message) => Effect.sync(() => add(talk, message)),
  correct: (message: Message.Message, correction: Message.Message | undefined) =>
    Effect.sync(() => {
      add(talk, message)
      if (++talk.turns >= talk.maxTurns) return undefined
      return correction === undefined ? talk.messages : add(talk, correction)
    }),
  addMessages: (messages: MessageEnv.Conversation) => Effect.sync(() => add(talk, ...messages)),
  countsToolCalls: true,
  limits: Limits.tighter({ maxTurns: talk.maxTurns }, talk.options.limits ?? {})
})

const checks = <E, R>(
  options: Settings,
  tools: ReadonlyArray<FunctionTool.FunctionTool<E, R>>
): ReadonlyArray<Check.Check> => {
  const names = tools.map(({ spec }) => spec.name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  return [
    Check.option("maxTurns", options.maxTurns, Check.whole(1)),
    Check.option("maxToolCalls", options.maxToolCalls, Check.whole(0)),
    ...Limits.checks(options.limits ?? Limits.unlimited, "limits."),
    { field: "tools", found: `two named "${twice}"`, expected: "names that differ", holds: twice === undefined }
  ]
}

/**
 * The policy calls tools and reads their answers turn by turn, until it calls no tool (`completed`), a tool ends the episode
 * (`tool_stopped`), it exceeds the limit on tool calls (`max_tool_calls`) or its turns are used up (`max_turns`). The episode is graded
 * only in these four cases. An episode that ends because of its length, or because a response cannot be parsed, is not graded.
 *
 * @example
 * const env = ToolEnv.make({
 *   model,
 *   tools: [tool],
 *   messages: [Message.user("What is 17 · 23? Use the calculator.")],
 *   maxTurns: 4,
 *   grade: (said) => Effect.succeed({ reward: said.some((message) => Message.text(message).includes("391")) ? 1 : 0 })
 * })
 *
 * @see tinker-cookbook `build_agent_tool_env`, `AgentToolMessageEnv`
 */
export function make<T extends FunctionTool.FunctionTool<unknown, unknown> = never, E = never, R = never>(
  options: Options<T, E, R>
): Effect.Effect<
  MessageEnv.TokenEnv<E | FunctionTool.Error<T>, R | FunctionTool.Requirements<T>>,
  InvalidOption | Renderer.RendererError
>
export function make<E, R>(
  options: Options<FunctionTool.FunctionTool<E, R>, E, R>
): Effect.Effect<MessageEnv.TokenEnv<E, R>, InvalidOption | Renderer.RendererError> {
  return Effect.gen(function*() {
    yield* Check.all(...checks(options, options.tools))
    const { limits, maxTurns = limits?.maxTurns ?? defaultMaxTurns, model, reference, tools } = options
    const isBudgeted = [limits?.maxTrajectoryTokens, limits?.maxSampledTokens, limits?.maxTurnTokens].some(
      Number.isFinite
    )
    const system = options.systemPrompt === undefined ? [] : [Message.system(options.systemPrompt)]
    const { messages: prefix, offered } = yield* Renderer.offering(
      model.renderer,
      tools.map(({ spec }) => spec),
      system
    )
    const initial = [...prefix, ...options.messages]
    const talk: Talk<E, R> = {
      options,
      tools: new Map(tools.map((tool) => [tool.spec.name, tool])),
      initial,
      maxTurns,
      messages: initial,
      turns: 0,
      toolCalls: 0
    }
    const reported = {
      ...(reference !== undefined && { task: { reference } }),
      ...(offered !== undefined && { offered })
    }
    return yield* MessageEnv.toEnv({ ...conversation(talk), ...reported }, {
      failedParseReward: -0.1,
      onLength: isBudgeted ? "continue" : "stop",
      ...options
    })
  })
}
