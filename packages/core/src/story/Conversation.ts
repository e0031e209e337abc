/**
 * A recorded episode as messages, turn by turn: system, user, assistant with reasoning and tool calls, and tools. Uses the messages that
 * the environment showed, if recorded. Otherwise it uses the tokens, if the run's tokenizer is available, and the texts that the
 * environment logged.
 *
 * @example
 * const conversation = Effect.map(Conversation.read(trajectory, tokenizer), Conversation.toOpenAi)
 */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import * as OpenAi from "../chat/OpenAi.ts"
import type { Renderer } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import type { Offered, ToolSpec } from "../chat/ToolSpec.ts"
import * as Branch from "../env/Branch.ts"
import * as Trajectory from "../env/Trajectory.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import * as LogNames from "./LogNames.ts"
import * as NewTokens from "./NewTokens.ts"
import * as PromptText from "./PromptText.ts"

/** The parts of a renderer that render a conversation with tools. */
export type Rendering = Pick<Renderer, "name" | "generationPrompt" | "toolsPrefix">

/** How to decode, parse and render a run's tokens. */
export interface Language extends Pick<Tokenizer, "decode"> {
  /** Parses a response; absent if the run's renderer is unknown. */
  readonly parse?: Renderer["parse"]
  /** Renders prompts; absent if the run's renderer is unknown. */
  readonly renderer?: Rendering
}

/** A tool call, and its result if one was recorded. */
export interface ToolUse {
  readonly name: string
  /** JSON text, as the policy wrote it. */
  readonly arguments: string
  readonly result: string | undefined
}

/** The messages and tool results that a turn added to the conversation. */
export interface Turn {
  /** The tools that the policy could call, as far as they are recorded. */
  readonly offered: ReadonlyArray<ToolSpec>
  /**
   * The messages shown to the policy since the turn that it continues, without the description of the tools; empty if their text is unknown.
   */
  readonly shown: ReadonlyArray<Message.Message>
  readonly said: Message.Message
  readonly tools: ReadonlyArray<ToolUse>
}

/** The tokens of a prompt, with null for each position of an image. */
export const promptTokens = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number | null> =>
  chunks.flatMap((chunk): ReadonlyArray<number | null> =>
    chunk._tag === "Image" ? Array.from({ length: chunk.expectedTokens }, () => null) : Array.from(chunk.tokens)
  )

type Logs = Trajectory.Transition["logs"]

const logged = (logs: Logs, name: string): string | undefined =>
  Object.hasOwn(logs, name) ? String(logs[name]) : undefined

/** Tool calls in the form that environments logged before they reported messages. */
const loggedCalls = (logs: Logs): ReadonlyArray<Message.ToolCall> => {
  const calls: Array<Message.ToolCall> = []
  for (let index = 0;; index++) {
    const call = logged(logs, LogNames.toolCall(index))
    if (call === undefined) return calls
    const [, name = call, given = ""] = /^([^(]*)\(([^]*)\)$/.exec(call) ?? []
    calls.push({ function: { name, arguments: given } })
  }
}

type Messages = ReadonlyArray<Message.Message>

/** The result of a call among tool messages: by id, or else by position. */
const answerTo = (answers: Messages, { id }: Message.ToolCall, index: number) => {
  const answer = answers.find(({ toolCallId }) => id !== undefined && toolCallId === id) ?? answers[index]
  return answer === undefined ? undefined : Message.text(answer)
}

/**
 * A message's tool calls with their results, from the logs or from the tool messages shown to a later turn. A result that was not recorded
 * is undefined.
 */
const toolsOf = ({ toolCalls = [] }: Message.Message, logs: Logs, answers: Messages): ReadonlyArray<ToolUse> =>
  toolCalls.map((call, index) => ({
    name: call.function.name,
    arguments: call.function.arguments,
    result: logged(logs, LogNames.toolResult(index)) ?? answerTo(answers, call, index)
  }))

/** A turn's tool results as messages. */
const answers = ({ said: { toolCalls = [] }, tools }: Turn): ReadonlyArray<Message.Message> =>
  tools.flatMap(({ name, result }, index) => {
    const id = toolCalls[index]?.id
    return result === undefined
      ? []
      : [{ role: "tool", content: result, name, ...(id === undefined ? {} : { toolCallId: id }) }]
  })

const loggedResponse = ({ logs, score }: Trajectory.Transition) => score?.answer ?? logged(logs, LogNames.besideCalls)

/** Whether the environment reported the turn's text: as a message, as the graded answer, or in its logs. */
export const isLogged = (transition: Trajectory.Transition): boolean =>
  transition.said !== undefined || loggedResponse(transition) !== undefined

/** The response as the environment reported it, or else decoded from its tokens. */
const saidIn = (transition: Trajectory.Transition, decode: Language["decode"] | undefined): Message.Message => {
  const { action: { tokens }, logs, said } = transition
  if (said !== undefined) return said
  const toolCalls = loggedCalls(logs)
  const text = loggedResponse(transition)
    ?? (decode === undefined ? `(${tokens.length} tokens)` : PromptText.response(decode(tokens)))
  return { ...Message.assistant(text), ...(toolCalls.length === 0 ? {} : { toolCalls }) }
}

/** An episode being read, turn by turn. */
interface Reading {
  readonly trajectory: Trajectory.Trajectory
  readonly decode: Language["decode"] | undefined
  /** The tokens of each turn; empty if there is no decoder. */
  readonly tokens: ReadonlyArray<NewTokens.Turn>
  readonly turns: Array<Turn>
  /** The conversation of each turn, with its response; undefined if the messages shown to the turn are not recorded. */
  readonly conversations: Array<Messages | undefined>
  /** The tools that each turn's conversation describes. */
  readonly offers: Array<Offered>
}

const tokensOf = ({ action: { tokens }, branch, observation }: Trajectory.Transition): NewTokens.Turn => ({
  prompt: promptTokens(observation),
  tokens,
  branch
})

/** The messages in the tokens that a turn's prompt adds to the turn that it continues. */
const addedIn = ({ decode, tokens }: Reading, index: number) => {
  const turn = tokens[index]
  if (decode === undefined || turn === undefined) return []
  return PromptText.messages(decode(turn.prompt.slice(NewTokens.from(tokens, index)).filter((token) => token !== null)))
}

/**
 * The messages before a turn whose shown messages are not recorded: the task's question at the first turn, otherwise logged tool results,
 * if any, followed by other messages found in the tokens.
 */
const readIn = (reading: Reading, index: number, before: number): Messages => {
  const { trajectory: { task }, turns } = reading
  const turn = turns[before]
  if (index === 0 && task?.question !== undefined) return [Message.user(task.question)]
  const answered = turn === undefined ? [] : answers(turn)
  const added = addedIn(reading, index)
  const isAnswer = (message: Message.Message) =>
    answered.some((answer) => Message.text(message).includes(Message.text(answer)))
  return answered.length === 0 ? added : [...answered, ...added.filter((message) => !isAnswer(message))]
}

/** A conversation with its system prompt in place of the messages that describe the tools. */
const undescribed = (conversation: Messages, { messages, systemPrompt }: Offered): Messages => [
  ...(systemPrompt === undefined ? [] : [Message.system(systemPrompt)]),
  ...conversation.slice(messages)
]

/**
 * The messages that a turn's prompt adds to the turn before. For the first turn, or if the added messages begin within the description of
 * the tools, the whole conversation without that description.
 */
const added = (conversation: Messages, { messages }: Trajectory.AddedMessages, isFirst: boolean, offered: Offered) =>
  isFirst || conversation.length - messages.length < Math.max(1, offered.messages)
    ? undescribed(conversation, offered)
    : messages

/** Reads a turn; all earlier turns must have been read. */
const readTurn = (
  reading: Reading,
  index: number,
  transition: Trajectory.Transition,
  response: Message.Message | undefined
) => {
  const { conversations, decode, offers, trajectory: { transitions }, turns } = reading
  const { branch, logs, shown } = transition
  const before = Branch.previous(index, transition.branch)
  const said = response ?? saidIn(transition, decode)
  const conversation = Trajectory.shownTo(conversations, transition)
  conversations.push(conversation && [...conversation, said])
  const offered = shown?.offered ?? offers[branch?.after ?? -1] ?? offers.at(-1) ?? Trajectory.nothingOffered
  offers.push(offered)
  const next = transitions.find((other, at) => at > index && Branch.previous(at, other.branch) === index)
  const answers = next?.shown?.messages.filter(({ role }) => role === "tool") ?? []
  turns.push({
    offered: offered.tools,
    shown: shown === undefined || conversation === undefined
      ? readIn(reading, index, before)
      : added(conversation, shown, before < 0, offered),
    said,
    tools: toolsOf(said, logs, answers)
  })
}

/**
 * The turns of an episode. `responses` has the parsed message of each turn. Where one is missing, the response comes from the environment's
 * message or logs, or else from the decoded tokens. Without `decode`, no tokens are read.
 */
export const make = (
  trajectory: Trajectory.Trajectory,
  responses: ReadonlyArray<Message.Message | undefined>,
  decode?: Language["decode"]
): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  const tokens = decode === undefined ? [] : trajectory.transitions.map(tokensOf)
  const reading: Reading = { trajectory, decode, tokens, turns, conversations: [], offers: [] }
  for (const [index, transition] of trajectory.transitions.entries()) {
    readTurn(reading, index, transition, responses[index])
  }
  return turns
}

/** The turns of an episode. Without a language, only the messages and logs of the environment are used. */
export const read = Effect.fnUntraced(function*(trajectory: Trajectory.Trajectory, language?: Language) {
  const responses = yield* Effect.forEach(
    trajectory.transitions,
    ({ action: { tokens } }) =>
      language?.parse === undefined
        ? Effect.succeed(undefined)
        : language.parse(tokens).pipe(Effect.map(({ message }) => message), Effect.orElseSucceed(() => undefined))
  )
  return make(trajectory, responses, language?.decode)
})

/** The text of a message, followed by the raw text of calls that could not be parsed. */
export const text = (message: Message.Message): string =>
  [Message.text(message), ...(message.unparsedToolCalls ?? []).map(({ rawText }) => rawText)]
    .filter((part) => part !== "").join("\n")

/** The messages shown to a turn, as one text; blank lines separate them. */
export const shownText = ({ shown }: Turn): string => shown.map(text).join("\n\n")

/** The response of a turn as one text: reasoning, answer and calls. */
export const saidText = ({ said }: Turn): string =>
  [
    Message.thinking(said),
    text(said),
    ...(said.toolCalls ?? []).map(({ function: { arguments: given, name } }) => `${name}(${given})`)
  ].filter((part) => part !== "").join("\n")

/** The messages of `shown` after those of `before`; all of `shown` if it does not start with `before`. */
const beyond = (before: Messages, shown: Messages): Messages =>
  Trajectory.sharedLength(before, shown) === before.length ? shown.slice(before.length) : shown

const told = (turns: ReadonlyArray<Turn>) => {
  const messages: Array<Message.Message> = []
  const lengths: Array<number> = []
  for (const { said, shown } of turns) {
    messages.push(...beyond(messages, shown))
    lengths.push(messages.length)
    messages.push(said)
  }
  return { messages, lengths }
}

/** All messages in order, up to the last tool results. Messages that a later prompt repeats are included once. */
export const messages = (turns: ReadonlyArray<Turn>): ReadonlyArray<Message.Message> => {
  const last = turns.at(-1)
  return [...told(turns).messages, ...(last === undefined ? [] : answers(last))]
}

/** For each turn, the number of `messages` before its response. */
export const lengths = (turns: ReadonlyArray<Turn>): ReadonlyArray<number> => told(turns).lengths

/** The message with its unparsed calls as text, as when streaming. */
const readable = (message: Message.Message): Message.Message => {
  const { unparsedToolCalls = [], ...read } = message
  if (unparsedToolCalls.length === 0) return message
  const written = unparsedToolCalls.map(({ rawText }) => ({ type: "text" as const, text: rawText }))
  return { ...read, content: [...Message.parts(message), ...written] }
}

/** All messages in the format of chat completions. A call that could not be parsed becomes text, as when streaming. */
export const toOpenAi = (turns: ReadonlyArray<Turn>): ReadonlyArray<OpenAi.ChatMessage> =>
  OpenAi.fromMessages(messages(turns).map(readable))

/** The tools that the turns could call, each once, in the format of chat completions; empty if none are recorded. */
export const toOpenAiTools = (turns: ReadonlyArray<Turn>): ReadonlyArray<OpenAi.Tool> =>
  [...new Map(turns.flatMap(({ offered }) => offered).map((tool) => [tool.name, tool])).values()].map(
    OpenAi.fromToolSpec
  )

/** A turn in the format of chat completions: the messages that it was shown, and its response. */
export interface OpenAiTurn {
  readonly shown: ReadonlyArray<OpenAi.ChatMessage>
  readonly said: ReadonlyArray<OpenAi.ChatMessage>
}

/**
 * The turns in the format of chat completions. Each turn has all messages that it was shown, including those that an earlier turn was
 * shown.
 */
export const toOpenAiTurns = (turns: ReadonlyArray<Turn>): ReadonlyArray<OpenAiTurn> => {
  const all = OpenAi.fromMessages(turns.flatMap(({ said, shown }) => [...shown, said]).map(readable))
  let at = 0
  return turns.map(({ shown: { length } }) => {
    const [shown, said] = [all.slice(at, at + length), all.slice(at + length, at + length + 1)]
    at += length + 1
    return { shown, said }
  })
}

/** The logs of a turn that are not part of the conversation. */
export const others = (
  { logs }: Pick<Trajectory.Transition, "logs">
): ReadonlyArray<readonly [name: string, value: string | number]> =>
  Object.entries(logs).filter(([name]) => !LogNames.isSaid(name))
