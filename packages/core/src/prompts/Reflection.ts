/**
 * Lets a model read episodes with their rewards and feedback, and write a better instruction.
 *
 * @example
 * const written = Reflection.write(judge, {
 *   instruction: "Answer.",
 *   episodes: [{ reward: 0, text: "[user]\nWhat is 7 + 5?\n\n[assistant]\ntwelve", feedback: ["expected: 12"] }],
 *   known: new Set(["Answer."]),
 *   answers: 3,
 *   key: "0/reflection"
 * })
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ChatModel } from "../catalog/ChatModel.ts"
import * as Message from "../chat/Message.ts"
import type { MessagePolicy } from "../policy/MessagePolicy.ts"
import type * as RunRecord from "../records/RunRecord.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import * as Conversation from "../story/Conversation.ts"

/** An episode as the reflector reads it. */
export interface Episode {
  readonly reward: number
  readonly text: string
  /** What the environment and its graders said about the episode. */
  readonly feedback: ReadonlyArray<string>
}

/** Why an answer of the reflector was not used: it holds no instruction, one that is too long, or one that was evaluated before. */
export type Refusal = NonNullable<RunRecord.Sampling["proposal"]>["refusals"][number]

/** What the reflector wrote. */
export interface Written {
  /** The new instruction; absent if no answer had one. */
  readonly instruction?: string
  /** Why earlier answers were not used, in order. */
  readonly refusals: ReadonlyArray<Refusal>
}

/** What a reflector is asked for. */
export interface Request {
  readonly instruction: string
  readonly episodes: ReadonlyArray<Episode>
  /** Instructions that were evaluated before. An answer that repeats one of them is not used. */
  readonly known: ReadonlySet<string>
  /** The most answers that the reflector is asked for. */
  readonly answers: number
  /** The prefix of the keys of the requests. */
  readonly key: string
}

/** The longest transcript that is shown to the reflector, and the longest instruction that it may write, in characters. */
const longest = { transcript: 4000, instruction: 20_000 }

const shortened = (text: string) => {
  const half = longest.transcript / 2
  return text.length <= longest.transcript ? text : `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`
}

/** The member of a group with the lowest reward, as an episode without the instruction; undefined if no member finished. */
export const episode = Effect.fnUntraced(function*(
  group: GroupResult.GroupResult,
  instruction: string,
  { renderer, tokenizer }: Pick<ChatModel, "renderer" | "tokenizer">
): Effect.fn.Return<Episode | undefined> {
  if (GroupResult.isSkipped(group)) return undefined
  const rewardOf = (member: number) => group.rewardsG[member] ?? NaN
  const [worst] = GroupResult.survivors(group).toSorted(([left], [right]) => rewardOf(left) - rewardOf(right))
  if (worst === undefined) return undefined
  const [member, trajectory] = worst
  const turns = yield* Conversation.read(trajectory, { decode: tokenizer.decode, parse: renderer.parse })
  const told = Conversation.messages(turns).filter((message) => Conversation.text(message) !== instruction)
  const { reference } = trajectory.task ?? {}
  const explanations = [...trajectory.transitions.map(({ score }) => score), group.scoresG?.[member]]
  return {
    reward: rewardOf(member),
    text: told.map((message) => `[${message.role}]\n${Conversation.text(message)}`).join("\n\n"),
    feedback: [
      ...explanations.flatMap((score) => score?.explanation ?? []),
      ...(reference === undefined ? [] : [`expected: ${reference}`]),
      ...Option.match(trajectory.stopReason, { onNone: () => [], onSome: (reason) => [`ended: ${reason}`] })
    ]
  }
})

const section = (name: string, content: string) => `<${name}>\n${content}\n</${name}>`

/** The message that asks for a better instruction. */
export const prompt = ({ episodes, instruction }: Pick<Request, "episodes" | "instruction">): Message.Message =>
  Message.user([
    "You improve the instruction of an assistant. Below are its present instruction and some episodes in which it followed it, each with a "
    + "reward (higher is better) and with feedback if there is any.",
    section("present_instruction", instruction),
    ...episodes.map(({ feedback, reward, text }) =>
      section(
        "episode",
        [shortened(text), `reward: ${reward}`, ...feedback.map((line) => `feedback: ${shortened(line)}`)].join("\n\n")
      )
    ),
    "Find out from the episodes what the task demands, what went wrong and why. Write a whole new instruction that keeps what works, corrects "
    + "what does not, and states what an assistant has to know of the task, for problems other than these too.",
    "End with the new instruction, written as <instruction>the new instruction</instruction>."
  ].join("\n\n"))

/** The text of the last instruction in an answer; empty if there is none. */
const read = (answer: string) => {
  const end = answer.lastIndexOf("</instruction>")
  const begin = answer.lastIndexOf("<instruction>", end)
  return end < 0 || begin < 0 ? "" : answer.slice(begin + "<instruction>".length, end).trim()
}

const refusal = (instruction: string, known: ReadonlySet<string>): Refusal | undefined => {
  if (instruction === "") return "missing"
  if (instruction.length > longest.instruction) return "long"
  return known.has(instruction) ? "known" : undefined
}

/** Asks the reflector until it writes a new instruction, but at most `answers` times. */
export const write = Effect.fnUntraced(function*<E, R>(
  reflector: MessagePolicy<E, R>,
  request: Request
): Effect.fn.Return<Written, E, R> {
  const messages = [prompt(request)]
  const refusals: Array<Refusal> = []
  while (refusals.length < request.answers) {
    const answer = yield* reflector.respond({ messages, key: `${request.key}/a${refusals.length}` })
    const instruction = read(Message.text(answer))
    const refused = refusal(instruction, request.known)
    if (refused === undefined) return { instruction, refusals }
    refusals.push(refused)
  }
  return { refusals }
})
