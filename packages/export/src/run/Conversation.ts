/** What was said in an episode, as messages: from the texts that its environment logged, or from its tokens. */
import type { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"

/** The text of tokens, special ones included. */
export type Decode = (tokens: ArrayLike<number>) => string

export interface ToolUse {
  /** Such as `calculator({"expression":"1+1"})`. */
  readonly call: string
  readonly result: string
}

/** What a turn added. */
export interface Turn {
  /** What the policy was shown; empty where there is no text of it. */
  readonly prompt: string
  readonly response: string
  readonly tools: ReadonlyArray<ToolUse>
}

/** A message as every tool reads it. */
export interface Message {
  readonly role: "user" | "assistant"
  readonly content: string
}

const tokensOf = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number> =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : Array.from(chunk.tokens))

/** The tokens that come after what the last turn was shown and said; all of them after a fork. */
const added = (
  { observation }: Trajectory.Transition,
  before: Trajectory.Transition | undefined
): ReadonlyArray<number> => {
  const tokens = tokensOf(observation)
  if (before === undefined) return tokens
  const known = [...tokensOf(before.observation), ...before.action.tokens]
  return known.every((token, index) => token === tokens[index]) ? tokens.slice(known.length) : tokens
}

const own = (logs: Trajectory.Transition["logs"], name: string): string | undefined =>
  Object.hasOwn(logs, name) ? String(logs[name]) : undefined

const toolsOf = (logs: Trajectory.Transition["logs"]): ReadonlyArray<ToolUse> => {
  const uses: Array<ToolUse> = []
  for (let index = 0;; index++) {
    const call = own(logs, `tool_call_${index}`)
    if (call === undefined) return uses
    uses.push({ call, result: own(logs, `tool_result_${index}`) ?? "" })
  }
}

const unread = ({ action }: Trajectory.Transition) => `(${action.tokens.length} tokens)`

/**
 * The turns of an episode. Without `decode`, only what the environment logged as `question` and `response` is known.
 *
 * @example
 * const said = Conversation.messages(Conversation.turns(trajectory, tokenizer.decode))
 */
export const turns = ({ transitions }: Trajectory.Trajectory, decode?: Decode): ReadonlyArray<Turn> =>
  transitions.map((transition, index) => {
    const { action, logs } = transition
    const question = index === 0 ? own(logs, "question") : undefined
    const prompt = question ?? (decode === undefined ? "" : decode(added(transition, transitions[index - 1])))
    const response = own(logs, "response") ?? (decode === undefined ? unread(transition) : decode(action.tokens))
    return { prompt, response, tools: toolsOf(logs) }
  })

/** The turns as messages of a user and an assistant. */
export const messages = (turns: ReadonlyArray<Turn>): ReadonlyArray<Message> =>
  turns.flatMap(({ prompt, response }): ReadonlyArray<Message> => [
    ...(prompt === "" ? [] : [{ role: "user" as const, content: prompt }]),
    { role: "assistant", content: response }
  ])

/** The right answer, where the environment logged one. */
export const reference = ({ transitions }: Trajectory.Trajectory): string | undefined =>
  transitions.map(({ logs }) => own(logs, "reference")).findLast((found) => found !== undefined)
