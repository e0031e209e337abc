/**
 * What was said in a recorded episode, turn by turn as messages: of the system, the user, the assistant with its reasoning and its calls of
 * tools, and the tools. From the tokens, where the run's tokenizer is at hand, and from the texts that the environment logged.
 *
 * @example
 * const conversation = Effect.map(Conversation.read(trajectory, tokenizer), Conversation.toOpenAi)
 */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import * as OpenAi from "../chat/OpenAi.ts"
import type { Renderer } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import * as LogNames from "./LogNames.ts"
import * as NewTokens from "./NewTokens.ts"
import * as PromptText from "./PromptText.ts"

/** How a run's tokens read. */
export interface Language extends Pick<Tokenizer, "decode"> {
  /** Reads a response as a message; absent where the run's renderer is not known. */
  readonly parse?: Renderer["parse"]
}

/** A call of a tool, and its answer where one was recorded. */
export interface ToolUse {
  readonly name: string
  /** JSON text, as the policy wrote it. */
  readonly arguments: string
  readonly result: string | undefined
}

/** What a turn added. */
export interface Turn {
  /** The messages shown to the policy since its last turn; empty if their text is unknown. */
  readonly shown: ReadonlyArray<Message.Message>
  readonly said: Message.Message
  readonly tools: ReadonlyArray<ToolUse>
}

/** A prompt's tokens, with null at each position of an image. */
export const promptTokens = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number | null> =>
  chunks.flatMap((chunk): ReadonlyArray<number | null> =>
    chunk._tag === "Image" ? Array.from({ length: chunk.expectedTokens }, () => null) : Array.from(chunk.tokens)
  )

type Logs = Trajectory.Transition["logs"]

const logged = (logs: Logs, name: string): string | undefined =>
  Object.hasOwn(logs, name) ? String(logs[name]) : undefined

/** Calls as the environment logged them. */
const loggedCalls = (logs: Logs): ReadonlyArray<Message.ToolCall> => {
  const calls: Array<Message.ToolCall> = []
  for (let index = 0;; index++) {
    const call = logged(logs, LogNames.toolCall(index))
    if (call === undefined) return calls
    const [, name = call, given = ""] = /^([^(]*)\(([^]*)\)$/.exec(call) ?? []
    calls.push({ function: { name, arguments: given } })
  }
}

const toolsOf = ({ toolCalls = [] }: Message.Message, logs: Logs): ReadonlyArray<ToolUse> =>
  toolCalls.map(({ function: { arguments: given, name } }, index) => ({
    name,
    arguments: given,
    result: logged(logs, LogNames.toolResult(index))
  }))

/** The answers of tools that the next turn was shown. */
const answers = ({ said: { toolCalls = [] }, tools }: Turn): ReadonlyArray<Message.Message> =>
  tools.flatMap(({ name, result }, index) => {
    const id = toolCalls[index]?.id
    return result === undefined
      ? []
      : [{ role: "tool", content: result, name, ...(id === undefined ? {} : { toolCallId: id }) }]
  })

const loggedResponse = ({ logs, score }: Trajectory.Transition) => score?.answer ?? logged(logs, LogNames.besideCalls)

/** Whether the environment reported the turn's text, as the answer that it judged or in its logs. */
export const isLogged = (transition: Trajectory.Transition): boolean => loggedResponse(transition) !== undefined

/** The response as it was logged, or from its tokens. */
const saidIn = (transition: Trajectory.Transition, decode: Language["decode"] | undefined) => {
  const { action: { tokens }, logs } = transition
  const toolCalls = loggedCalls(logs)
  const text = loggedResponse(transition)
    ?? (decode === undefined ? `(${tokens.length} tokens)` : PromptText.response(decode(tokens)))
  return { ...Message.assistant(text), ...(toolCalls.length === 0 ? {} : { toolCalls }) }
}

interface Shown {
  readonly transition: Trajectory.Transition
  readonly before: Trajectory.Transition | undefined
  readonly turn: Turn | undefined
}

/** The messages of the tokens that the turn before was neither shown nor said. */
const addedIn = ({ before, transition }: Shown, decode: Language["decode"] | undefined) => {
  if (decode === undefined) return []
  const prompt = promptTokens(transition.observation)
  const known = before && { prompt: promptTokens(before.observation), tokens: before.action.tokens }
  const added = prompt.slice(NewTokens.from(prompt, known)).filter((token) => token !== null)
  return PromptText.messages(decode(added))
}

/** The question and answers of tools as they were logged, where they were; what stands in the tokens beside the answers comes after them. */
const shownIn = (
  shown: Shown,
  question: string | undefined,
  decode: Language["decode"] | undefined
): ReadonlyArray<Message.Message> => {
  const { before, turn } = shown
  if (before === undefined && question !== undefined) return [Message.user(question)]
  const answered = turn === undefined ? [] : answers(turn)
  const added = addedIn(shown, decode)
  const isAnswer = (message: Message.Message) =>
    answered.some((answer) => Message.text(message).includes(Message.text(answer)))
  return answered.length === 0 ? added : [...answered, ...added.filter((message) => !isAnswer(message))]
}

/**
 * The turns of an episode, with responses that were read before: a message for each turn, or nothing where its response cannot be read.
 * Without `decode`, only what the environment logged is known.
 */
export const make = (
  { task, transitions }: Trajectory.Trajectory,
  responses: ReadonlyArray<Message.Message | undefined>,
  decode?: Language["decode"]
): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (const [index, transition] of transitions.entries()) {
    const shown = shownIn({ transition, before: transitions[index - 1], turn: turns.at(-1) }, task?.question, decode)
    const said = responses[index] ?? saidIn(transition, decode)
    turns.push({ shown, said, tools: toolsOf(said, transition.logs) })
  }
  return turns
}

/** The turns of an episode; without a language, only what the environment logged is known. */
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

/** The text of a message: its answer, and calls that cannot be read as they were written. */
export const text = (message: Message.Message): string =>
  [Message.text(message), ...(message.unparsedToolCalls ?? []).map(({ rawText }) => rawText)]
    .filter((part) => part !== "").join("\n")

/** The prompt of a turn, as one text. */
export const shownText = ({ shown }: Turn): string => shown.map(text).join("\n\n")

/** The response of a turn, as one text: reasoning, answer and calls. */
export const saidText = ({ said }: Turn): string =>
  [
    Message.thinking(said),
    text(said),
    ...(said.toolCalls ?? []).map(({ function: { arguments: given, name } }) => `${name}(${given})`)
  ].filter((part) => part !== "").join("\n")

/** All messages in their order, to the last answers of tools. */
export const messages = (turns: ReadonlyArray<Turn>): ReadonlyArray<Message.Message> => {
  const last = turns.at(-1)
  return [...turns.flatMap(({ said, shown }) => [...shown, said]), ...(last === undefined ? [] : answers(last))]
}

/** The messages as chat completions have them. A call that cannot be read is text, as in a stream. */
export const toOpenAi = (turns: ReadonlyArray<Turn>): ReadonlyArray<OpenAi.ChatMessage> =>
  OpenAi.fromMessages(
    messages(turns).map((message) => {
      const { unparsedToolCalls = [], ...read } = message
      if (unparsedToolCalls.length === 0) return message
      const written = unparsedToolCalls.map(({ rawText }) => ({ type: "text" as const, text: rawText }))
      return { ...read, content: [...Message.parts(message), ...written] }
    })
  )

/** Logs of a turn that are not part of the conversation. */
export const others = (
  { logs }: Pick<Trajectory.Transition, "logs">
): ReadonlyArray<readonly [name: string, value: string | number]> =>
  Object.entries(logs).filter(([name]) => !LogNames.isSaid(name))
