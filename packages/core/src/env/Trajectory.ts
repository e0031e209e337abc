/**
 * The record of one episode.
 *
 * @example
 * const first = [Message.user("What is 2 + 3?")]
 * const second = [...first, Message.assistant("5"), Message.user("And 4 + 5?")]
 * const shown = Trajectory.addedMessages(first, second) // the last message alone
 */
import * as Equal from "effect/Equal"
import type * as Option from "effect/Option"
import type * as Message from "../chat/Message.ts"
import type { Offered } from "../chat/ToolSpec.ts"
import type * as ModelInput from "../model/ModelInput.ts"
import type * as Sampling from "../model/Sampling.ts"
import type * as EnvMetric from "../records/EnvMetric.ts"
import type { Json } from "../records/Json.ts"
import type { Score } from "../records/Score.ts"
import type { Branch } from "./Branch.ts"
import type * as Env from "./Env.ts"
import type * as StopReason from "./StopReason.ts"

/** The times of a turn, in milliseconds, by the clock of the process that played it. */
export interface TurnTimes {
  /** When the prompt went to the policy, in milliseconds since 1970. */
  readonly began: number
  /** Time until the policy answered, including the time that the request waited. */
  readonly sampling: number
  /** Time from the policy's answer to the environment's answer. */
  readonly environment: number
}

/**
 * The messages of a turn's prompt, stored as the difference to the previous turn. Responses are left out, because the sampled tokens
 * contain them.
 */
export interface AddedMessages {
  /**
   * How many messages of the previous turn's conversation, including its response, precede `messages`. Default: all of them; before the
   * first turn there are none.
   */
  readonly kept?: number
  /** The messages as the environment gave them. */
  readonly messages: ReadonlyArray<Message.Message>
  /** The tools that the conversation's first messages describe; absent if they are those of the turn that this one continues. */
  readonly offered?: Offered
}

/** One turn of an episode: its observation, action and reward. @see tinker-cookbook `Transition` */
export interface Transition {
  readonly observation: ModelInput.ModelInput
  readonly action: Sampling.SampledTokens
  readonly reward: number
  /** The judgement behind the reward; absent if the environment gave only a reward. */
  readonly score?: Score
  /** Whether this turn's tokens may be trained on; false if a grammar constrained them. */
  readonly trainable: boolean
  /** The metrics that the environment reported, and `correct` if the score says whether the task was solved. */
  readonly metrics: EnvMetric.Metrics
  readonly logs: Readonly<Record<string, string | number>>
  /** The response as the environment parsed it; absent if the environment reported none. */
  readonly said?: Message.Message
  /** The environment's state in which the action was taken; absent if the environment reports none. */
  readonly state?: Json
  /** The messages that the environment showed before the action; absent for environments that show only tokens. */
  readonly shown?: AddedMessages
  /** The turn that this one continues, if the environment says that it is not the previous one. */
  readonly branch?: Branch
  /** The times of the turn; absent if it took less than a millisecond. */
  readonly times?: TurnTimes
}

/**
 * An episode. `transitions` are in order, and empty if the episode ended before its first action. `stepReward` is the sum of their rewards,
 * or the reward of the overflow.
 *
 * @example
 * const isShort = (trajectory: Trajectory.Trajectory) =>
 *   Trajectory.actionTokens(trajectory) < 100 && !Trajectory.isTruncated(trajectory)
 *
 * @see tinker-cookbook `Trajectory`
 */
export interface Trajectory {
  readonly transitions: ReadonlyArray<Transition>
  readonly stepReward: number
  /** `None` if the environment gave no reason. A hook may use its own name. */
  readonly stopReason: Option.Option<StopReason.Name>
  /** Number of turns that were cut at their token limit and after which the episode continued. */
  readonly truncations: number
  /** The environment's question and expected answer, if it reports them. */
  readonly task?: Env.Task
  /** What the environment logged about a first prompt that exceeded the token budget. */
  readonly logs?: Readonly<Record<string, string | number>>
}

/** Named texts of a turn for display: the task before the first turn, the judged answer, and logs. */
export const texts = (
  { task, transitions }: Pick<Trajectory, "task" | "transitions">,
  index: number
): Transition["logs"] => {
  const { logs = {}, score: { answer, explanation } = {} } = transitions[index] ?? {}
  return {
    ...(index === 0 && task?.question !== undefined && { question: task.question }),
    ...(answer !== undefined && { response: answer }),
    ...(index === 0 && task?.reference !== undefined && { reference: task.reference }),
    ...(explanation !== undefined && { explanation }),
    ...logs
  }
}

/** Whether one of the turns solved the task; undefined if no score says whether it did. */
export const isCorrect = ({ transitions }: Trajectory): boolean | undefined => {
  const verdicts = transitions.flatMap(({ score }) => score?.success ?? [])
  return verdicts.length === 0 ? undefined : verdicts.includes(true)
}

/** Whether the last turn was cut at its token limit. */
export const isTruncated = (self: Trajectory) => self.transitions.at(-1)?.action.stopReason === "length"

/** The number of sampled tokens in all turns. */
export const actionTokens = (self: Trajectory) =>
  self.transitions.reduce((count, transition) => count + transition.action.tokens.length, 0)

/** The number of tokens in all prompts, including tokens that several turns read. */
export const observationTokens = (self: Trajectory) =>
  self.transitions.reduce((count, transition) => count + transition.observation.length, 0)

type Conversation = ReadonlyArray<Message.Message>

/** Roles of messages that a policy did not write. */
const others = new Set(["user", "system", "developer", "tool"])

/** Whether two messages are equal. Plain texts, the most frequent case, need no deep comparison. */
const isSame = (left: Message.Message, right: Message.Message) =>
  left === right ||
  (left.role === right.role && (typeof left.content !== "string" || left.content === right.content) &&
    ((left.content === right.content && left.toolCalls === right.toolCalls &&
      left.unparsedToolCalls === right.unparsedToolCalls && left.toolCallId === right.toolCallId &&
      left.name === right.name && left.trainable === right.trainable) || Equal.equals(left, right)))

/** How many messages two conversations share at their beginning. */
export const sharedLength = (left: Conversation, right: Conversation): number => {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const [one, other] = [left[index], right[index]]
    if (one === undefined || other === undefined || !isSame(one, other)) return index
  }
  return length
}

/** No tools. */
export const nothingOffered: Offered = { tools: [], messages: 0 }

/** Whether two prompts describe the same tools in the same messages. */
export const isSameOffer = (left: Offered, right: Offered): boolean => left === right || Equal.equals(left, right)

/** The messages that a conversation adds to the previous turn's conversation and response. `before` is undefined for the first turn. */
export const addedMessages = (before: Conversation | undefined, conversation: Conversation): AddedMessages => {
  if (before === undefined) return { messages: conversation }
  const kept = sharedLength(before, conversation)
  const next = conversation[kept]
  return kept === before.length && next !== undefined && !others.has(next.role)
    ? { messages: conversation.slice(kept + 1) }
    : { kept, messages: conversation.slice(kept) }
}

/** The conversation of a turn's prompt. `before` is the previous turn's conversation, with its response at the end. */
export const conversation = (before: Conversation, { kept = before.length, messages }: AddedMessages): Conversation => [
  ...before.slice(0, kept),
  ...messages
]

/**
 * The conversation shown to a turn. `conversations` are those of all earlier turns, each with its response at the end. Undefined if the
 * turn's messages are not recorded.
 */
export const shownTo = (
  conversations: ReadonlyArray<Conversation | undefined>,
  { branch, shown }: Pick<Transition, "branch" | "shown">
): Conversation | undefined =>
  shown && conversation(conversations[branch?.after ?? -1] ?? conversations.at(-1) ?? [], shown)
