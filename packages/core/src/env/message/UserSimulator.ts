/** A conversation with a user whom a model simulates. */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import type { MessagePolicy } from "../../policy/MessagePolicy.ts"
import type { GroupReward } from "../EnvGroupBuilder.ts"
import type * as MessageEnv from "./MessageEnv.ts"

/** The simulated user, and the conversation between the policy and the user. */
export interface Options<UE, UR, GE, GR> {
  /** Prefix of the keys of the requests to the user's model: the attempt key passed to `makeEnv`. */
  readonly key: string
  /** The model that writes the user's messages. */
  readonly user: MessagePolicy<UE, UR>
  /** Who the user is and what they want. The policy does not see it. */
  readonly persona: string
  /** The beginning of the conversation. If its last message is not a user message, the simulated user speaks first. */
  readonly messages: MessageEnv.Conversation
  /** Maximum number of the policy's turns. */
  readonly maxTurns: number
  /** Whether the user's message ends the conversation, because the user is satisfied or gives up. */
  readonly isOver: (message: Message.Message) => boolean
  /** Called once, when the conversation is over or has no turns left. */
  readonly grade: (messages: MessageEnv.Conversation) => Effect.Effect<GroupReward, GE, GR>
}

const mirrored: Readonly<Record<string, (text: string) => Message.Message>> = {
  user: Message.assistant,
  assistant: Message.user
}

/** The conversation from the user's perspective: the roles are swapped, and the persona replaces the system instructions. */
const fromUsersSide = (persona: string, messages: MessageEnv.Conversation): MessageEnv.Conversation => [
  Message.system(persona),
  ...messages.flatMap((message) => mirrored[message.role]?.(Message.text(message)) ?? [])
]

/**
 * The policy and the simulated user answer in turn until the user ends the conversation or the policy's turns are used up. Then the
 * conversation is graded.
 *
 * @example
 * const env = MessageEnv.toEnv(
 *   UserSimulator.make({
 *     key: "refund",
 *     user: judge,
 *     persona: "You want your money back and are in a hurry.",
 *     messages: [Message.system("You work at a shop.")],
 *     maxTurns: 6,
 *     isOver: (message) => Message.text(message).includes("Goodbye"),
 *     grade: (said) => Effect.succeed({ reward: said.length < 8 ? 1 : 0 })
 *   }),
 *   { model }
 * )
 */
export const make = <UE, UR, GE, GR>(
  options: Options<UE, UR, GE, GR>
): MessageEnv.MessageEnv<UE | GE, UR | GR> => {
  const { grade, isOver, key, maxTurns, persona, user } = options
  let { messages } = options
  let turns = 0
  const hear = Effect.gen(function*() {
    const said = yield* user.respond({ messages: fromUsersSide(persona, messages), key: `${key}/u${turns}` })
    const message = Message.user(Message.text(said))
    messages = [...messages, message]
    return message
  })
  const finish = (stopReason: "completed" | "max_turns") =>
    Effect.map(
      Effect.suspend(() => grade(messages)),
      (graded) => ({ ...graded, _tag: "Done", stopReason }) as const
    )
  return {
    initialMessages: Effect.suspend(() =>
      messages.at(-1)?.role === "user" ? Effect.succeed(messages) : Effect.map(hear, () => messages)
    ),
    step: Effect.fnUntraced(function*(message) {
      messages = [...messages, message]
      turns++
      if (turns >= maxTurns) return yield* finish("max_turns")
      if (isOver(yield* hear)) return yield* finish("completed")
      return { _tag: "Continue", reward: 0, messages }
    }),
    addMessages: (added) => Effect.sync(() => messages = [...messages, ...added])
  }
}
