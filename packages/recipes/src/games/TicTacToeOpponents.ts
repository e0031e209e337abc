/**
 * Players of tic-tac-toe that are not models.
 *
 * @example
 * const group = Versus.make({ key: "game 1", size: 8, model, game: TicTacToe.ticTacToe, opponent: TicTacToeOpponents.optimal })
 */
import { Message, type MessagePolicy } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as Effect from "effect/Effect"
import * as TicTacToe from "./TicTacToe.ts"

/** Answers the newest board with the cell that `choose` makes of it. */
const player = (choose: (board: TicTacToe.Board, key: string) => number): MessagePolicy.MessagePolicy => ({
  respond: ({ key, messages }) =>
    Effect.sync(() => {
      const shown = messages.findLast(({ role }) => role === "user")
      return Message.assistant(`[${choose(TicTacToe.read(shown === undefined ? "" : Message.text(shown)), key)}]`)
    })
})

/** Any free cell. @see tinker-cookbook `RandomOpponent` */
export const random = (seed: number): MessagePolicy.MessagePolicy =>
  player((board, key) => {
    const cells = TicTacToe.free(board)
    return cells[Math.floor(Seed.uniform(Seed.derive(seed, key))() * cells.length)] ?? -1
  })

/** Player 0's reward when both play perfectly from this board on; known boards are looked up. */
const values = new Map<string, number>()

const value = (board: TicTacToe.Board): number => {
  const { move, rewards, toMove } = TicTacToe.ticTacToe
  const id = board.cells.map((mark) => mark ?? "-").join("")
  const known = values.get(id)
  if (known !== undefined) return known
  const mover = toMove(board)
  const next = TicTacToe.free(board).flatMap((cell) => move(board, `[${cell}]`) ?? [])
  const found = mover === undefined
    ? rewards(board)[0] ?? 0
    : mover === 0
    ? Math.max(...next.map(value))
    : Math.min(...next.map(value))
  values.set(id, found)
  return found
}

/** The first of the best cells: never loses. */
export const bestMove = (board: TicTacToe.Board): number => {
  const sign = TicTacToe.ticTacToe.toMove(board) === 0 ? 1 : -1
  const rated = TicTacToe.free(board).map((cell) => {
    const next = TicTacToe.ticTacToe.move(board, `[${cell}]`)
    return { cell, rating: next === undefined ? -Infinity : sign * value(next) }
  })
  return rated.reduce((best, other) => other.rating > best.rating ? other : best, { cell: -1, rating: -Infinity }).cell
}

/** @see tinker-cookbook `OptimalOpponent` */
export const optimal: MessagePolicy.MessagePolicy = player(bestMove)
