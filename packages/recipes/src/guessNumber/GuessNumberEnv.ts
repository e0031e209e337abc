/** An environment in which the model guesses a number in a few turns. Each guess is answered with "Too low" or "Too high". */
import { type ChatModel, Env, Message, Score } from "@effect-rl/core"
import { Branch } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

/** How hard the game is. */
export interface Size {
  /** Exclusive upper bound of the number to guess, which is at least 0. */
  readonly range: number
  readonly maxTurns: number
}

/** The cookbook's size. */
export const standard: Size = { range: 1024, maxTurns: 10 }

const rules = (range: number) =>
  Message.system(
    `Find a whole number between 0 and ${range}. Say only "Guess: " and your guess, such as "Guess: 7". ` +
      "You are then told whether it is too low, too high or correct."
  )

const unread = Message.user("That could not be read. Say only \"Guess: \" and a whole number, such as \"Guess: 7\".")

/** The guessed number, parsed like Python's `int`. Undefined for any other text. */
const guessIn = (said: string): number | undefined => {
  const [, text] = /^Guess: (.*)/.exec(said) ?? []
  return text !== undefined && /^\s*[-+]?\d+(?:_\d+)*\s*$/.test(text) ? Number(text.replaceAll("_", "")) : undefined
}

const told = /Guess: (\d+)(?![\d"])[^"]*?Too (low|high)/g

/** The lowest and the highest number that are still possible after a conversation. */
export const leftOpen = (conversation: string, range: number): readonly [lowest: number, highest: number] => {
  let [lowest, highest] = [0, range - 1]
  for (const [, guess, verdict] of conversation.matchAll(told)) {
    if (verdict === "low") lowest = Math.max(lowest, Number(guess) + 1)
    else highest = Math.min(highest, Number(guess) - 1)
  }
  return [lowest, highest]
}

/** The lowest and the highest number that are still possible. */
type Open = readonly [lowest: number, highest: number]

interface Verdict {
  readonly reply: Message.Message
  readonly reward: number
  readonly open: Open
}

const judge = (said: string, answer: number, [lowest, highest]: Open): Verdict => {
  const guess = guessIn(said)
  if (guess === undefined) return { reply: unread, reward: -1, open: [lowest, highest] }
  if (guess === answer) return { reply: Message.user("Correct"), reward: 1, open: [guess, guess] }
  return guess < answer
    ? { reply: Message.user("Too low"), reward: 0, open: [Math.max(lowest, guess + 1), highest] }
    : { reply: Message.user("Too high"), reward: 0, open: [lowest, Math.min(highest, guess - 1)] }
}

/**
 * Each turn earns 1 for the right number, 0 for a wrong number and −1 for text without a guess, so an episode of the standard size earns
 * from −10 to 1. Truncated responses count too. Responses stay in the conversation under the role `player` and are rendered again for each
 * prompt, so each turn is a separate training sequence. The environment's state is the lowest and the highest number still possible.
 *
 * @example
 * const env = GuessNumberEnv.make(model, 617)
 *
 * @see tinker-cookbook `GuessNumberEnv`
 */
export const make = (
  { renderer }: Pick<ChatModel.ChatModel, "renderer">,
  answer: number,
  { maxTurns, range }: Size = standard
): Env.Env<Renderer.RendererError> => {
  let turns: ReadonlyArray<Message.Message> = []
  let state: Open = [0, range - 1]
  let isOver = false
  const show = Effect.suspend(() => {
    const messages = [rules(range), ...turns]
    return Effect.map(renderer.generationPrompt(messages), (input) => Env.prompt(input, renderer.stop, messages))
  })
  return {
    task: { reference: String(answer) },
    initialObservation: show,
    step: Effect.fnUntraced(function*({ tokens }) {
      if (isOver) return yield* Effect.die(new Error("the episode is over"))
      const said = Message.text((yield* renderer.parse(tokens)).message)
      const { open, reply, reward } = judge(said, answer, state)
      turns = [...turns, { role: "player", content: said }, reply]
      isOver = reward === 1 || turns.length / 2 >= maxTurns
      const reported = {
        reward,
        score: Score.correct(reward === 1),
        state,
        logs: { guess: said, feedback: Message.text(reply) }
      }
      state = open
      if (isOver) return { ...reported, _tag: "Done", stopReason: reward === 1 ? "completed" : "max_turns" }
      const observation = { ...(yield* show), branch: Branch.anew("edit") }
      return { ...reported, _tag: "Continue", observation }
    })
  }
}
