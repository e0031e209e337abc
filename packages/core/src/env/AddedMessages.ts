/**
 * The messages that a turn adds to the conversation of the turns before it.
 *
 * @example
 * const first = [Message.user("What is 2 + 3?")]
 * const second = [...first, Message.assistant("5"), Message.user("And 4 + 5?")]
 * const shown = AddedMessages.after(first, second) // the last message alone
 */
import * as Equal from "effect/Equal"
import type * as Message from "../chat/Message.ts"

/** The messages before a turn's response, as what they add to the turn before: the responses themselves are in the sampled tokens. */
export interface AddedMessages {
  /**
   * How many messages of the last turn's conversation, which ends with its response, come before `messages`; all of them unless given, and
   * none before the first turn.
   */
  readonly kept?: number
  /** The messages as the environment gave them. */
  readonly messages: ReadonlyArray<Message.Message>
}

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

/** How many messages two conversations have in common, at their beginning. */
export const sharedLength = (left: Conversation, right: Conversation): number => {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const [one, other] = [left[index], right[index]]
    if (one === undefined || other === undefined || !isSame(one, other)) return index
  }
  return length
}

/** What a conversation adds to the one before and the response to it; undefined before the first turn. */
export const after = (before: Conversation | undefined, conversation: Conversation): AddedMessages => {
  if (before === undefined) return { messages: conversation }
  const kept = sharedLength(before, conversation)
  const next = conversation[kept]
  return kept === before.length && next !== undefined && !others.has(next.role)
    ? { messages: conversation.slice(kept + 1) }
    : { kept, messages: conversation.slice(kept) }
}

/** The conversation before a turn's response: `before` is that of the last turn, with its response at the end. */
export const conversation = (before: Conversation, { kept = before.length, messages }: AddedMessages): Conversation => [
  ...before.slice(0, kept),
  ...messages
]
