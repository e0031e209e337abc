/**
 * What an assistant of mixed quality says in the recipes' games and tasks: often in the right form, sometimes wrong, seldom clever.
 * Reinforcement learning can then select among these behaviours.
 */
import { GuessNumberEnv, Things, TicTacToe } from "@effect-rl/recipes"
import type * as Random from "./Random.ts"

/** What an answer depends on. */
export interface Turn {
  readonly random: Random.Random
  /** The assistant's disposition in an episode, in [0, 1) and the same in all turns. */
  readonly mood: number
  /** The conversation as the model sees it. */
  readonly prompt: string
  /** A perfect player's answer. */
  readonly right: string
  /** Whether the assistant is still reliable. */
  readonly isReliable: boolean
}

/** Returns the assistant's message for a turn. */
export type Habit = (turn: Turn) => string

/** Draws one of the choices in proportion to its weight. */
export const choose = (
  random: Random.Random,
  choices: ReadonlyArray<readonly [weight: number, say: () => string]>
): string => {
  let left = random.uniform() * choices.reduce((sum, [weight]) => sum + weight, 0)
  const chosen = choices.find(([weight]) => (left -= weight) < 0) ?? choices[0]
  return chosen?.[1]() ?? ""
}

const unsure = () => "I am not sure."

/** A different number with as many digits. */
const slip = (random: Random.Random, number: string): string => {
  const at = random.below(number.length)
  const digit = 1 + random.below(9)
  return `${number.slice(0, at)}${digit === Number(number[at]) ? digit % 9 + 1 : digit}${number.slice(at + 1)}`
}

/** The recipe's default game. */
export const game: GuessNumberEnv.Size = { range: 32, maxTurns: 6 }

/**
 * For a whole game, halves the remaining range, guesses inside it, or guesses anywhere; sometimes in an unreadable form. If a game is
 * halved from the start, the next guess depends only on the last guess and its answer.
 */
export const guess: Habit = ({ isReliable, mood, prompt, random, right }) => {
  const [lowest, highest] = GuessNumberEnv.leftOpen(prompt, game.range)
  const anywhere = random.below(game.range)
  const [halving, open] = isReliable ? [0.6, 0.3] : [0.2, 0.2]
  return choose(random, [
    [isReliable ? 0.01 : 0.04, () => random.pick([`I guess ${anywhere}.`, `Is it ${anywhere}?`, `${anywhere}`])],
    [1, () => {
      if (mood < halving) return right
      if (mood < halving + open) return `Guess: ${lowest + random.below(Math.max(1, highest - lowest + 1))}`
      return `Guess: ${anywhere}`
    }]
  ])
}

const call = (name: string, parameters: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: parameters })}\n</tool_call>`

const isCall = (text: string) => text.startsWith("<tool_call>")

const numbers = /\d{3}/g

/** Answers without a call, calls with another expression, or forgets the form of a call. */
export const calculate: Habit = ({ isReliable, prompt, random, right }) => {
  if (!isCall(right)) {
    return choose(random, [
      [isReliable ? 0.9 : 0.55, () => right],
      [0.05, () => slip(random, right)],
      [isReliable ? 0.05 : 0.4, unsure]
    ])
  }
  const expression = /What is (.+?)\? Use/.exec(prompt)?.[1] ?? ""
  return choose(random, [
    [isReliable ? 0.85 : 0.35, () => right],
    [
      isReliable ? 0.02 : 0.1,
      () => call("calculator", { expression: slip(random, expression.slice(0, 2)) + expression.slice(2) })
    ],
    [isReliable ? 0.02 : 0.1, () => `<tool_call>\n${expression}\n</tool_call>`],
    [isReliable ? 0.06 : 0.25, () => String(random.below(10) === 0 ? random.below(100) : random.below(10_000))],
    [0.1, unsure]
  ])
}

/** Searches by only one name, reports another person's room, or does not search. */
export const search: Habit = ({ isReliable, prompt, random, right }) => {
  if (!isCall(right)) {
    const found = prompt.match(numbers) ?? []
    return choose(random, [
      [isReliable ? 0.9 : 0.6, () => right],
      [isReliable ? 0.05 : 0.2, () => found[random.below(found.length)] ?? right],
      [isReliable ? 0.05 : 0.2, unsure]
    ])
  }
  const [, first = "", last = ""] = /Which room does (\S+) (\S+) have/.exec(prompt) ?? []
  return choose(random, [
    [isReliable ? 0.5 : 0.3, () => right],
    [isReliable ? 0.25 : 0.2, () => call("search", { query: first })],
    [isReliable ? 0.15 : 0.2, () => call("search", { query: last })],
    [isReliable ? 0.05 : 0.2, () => String(100 + random.below(900))],
    [isReliable ? 0.05 : 0.1, unsure]
  ])
}

/** Writes the list in a random format. */
export const list: Habit = ({ isReliable, prompt, random, right }) => {
  const words = /Write (.+) as /.exec(prompt)?.[1]?.split(", ") ?? []
  return choose(random, [
    [isReliable ? 0.85 : 0.15, () => right],
    [isReliable ? 0.04 : 0.2, () => JSON.stringify(words)],
    [isReliable ? 0.04 : 0.2, () => words.map((word) => `- ${word}`).join("\n")],
    [isReliable ? 0.04 : 0.2, () => words.join("; ")],
    [isReliable ? 0.03 : 0.2, () => words.join(" ")]
  ])
}

/** Picks any cell, a free cell, a winning cell, or the best cell. */
export const move: Habit = ({ isReliable, prompt, random, right }) => {
  const board = TicTacToe.read(prompt)
  const free = TicTacToe.free(board)
  const winning = free.filter((cell) => {
    const next = TicTacToe.ticTacToe.move(board, `[${cell}]`)
    return next !== undefined && TicTacToe.winner(next) !== undefined
  })
  return choose(random, [
    [isReliable ? 0.01 : 0.2, () => `[${random.below(9)}]`],
    [isReliable ? 0.39 : 0.5, () => `[${free[random.below(free.length)] ?? 0}]`],
    [isReliable ? 0.3 : 0.15, () => winning.length === 0 ? right : `[${winning[random.below(winning.length)] ?? 0}]`],
    [isReliable ? 0.3 : 0.15, () => right]
  ])
}

/**
 * For a whole game, asks and guesses well, or asks what it has not asked and guesses what is left open, or asks and guesses anything. If it
 * guesses before one thing is left open, the guess is mostly wrong.
 */
export const ask: Habit = ({ isReliable, mood, prompt, random, right }) => {
  const open = Things.leftOpen(prompt)
  const questions = Things.traits.map(({ question }) => question)
  const unasked = questions.filter((question) => !prompt.includes(question))
  const anyOf = (choices: ReadonlyArray<string>) => choices[random.below(choices.length)] ?? right
  const [well, sensibly] = isReliable ? [0.45, 0.5] : [0.12, 0.33]
  if (mood < well) return right
  if (mood < well + sensibly) {
    return choose(random, [
      [open.length === 1 ? 1 : 0.15, () => `Guess: ${anyOf(open)}`],
      [open.length === 1 ? 0.1 : 1, () => anyOf(unasked)]
    ])
  }
  return choose(random, [[0.6, () => anyOf(questions)], [0.35, () => `Guess: ${anyOf(Things.names)}`], [0.05, unsure]])
}
