/**
 * Scripted tic-tac-toe players, used as opponents.
 *
 * @example
 * const group = Versus.make({ key: "game 1", size: 8, model, game: TicTacToe.ticTacToe, opponent: TicTacToeOpponents.optimal })
 */
import { Message, type MessagePolicy } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as Effect from "effect/Effect"
import * as TicTacToe from "./TicTacToe.ts"

/** A player that reads the newest board and answers with the cell that `choose` returns. */
const player = (choose: (board: TicTacToe.Board, key: string) => number): MessagePolicy.MessagePolicy => ({
  respond: ({ key, messages }) =>
    Effect.sync(() => {
      const shown = messages.findLast(({ role }) => role === "user")
      return Message.assistant(`[${choose(TicTacToe.read(shown === undefined ? "" : Message.text(shown)), key)}]`)
    })
})

/** Plays a free cell that is drawn from the seed and the request's key. @see tinker-cookbook `RandomOpponent` */
export const random = (seed: number): MessagePolicy.MessagePolicy =>
  player((board, key) => {
    const cells = TicTacToe.free(board)
    return cells[Math.floor(Seed.uniform(Seed.derive(seed, key))() * cells.length)] ?? -1
  })

/** Cached rewards of player 0 when both sides play perfectly from a board. */
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

/** The first free cell among the best moves, or −1 if no cell is free. A player that always follows it never loses. */
export const bestMove = (board: TicTacToe.Board): number => {
  const sign = TicTacToe.ticTacToe.toMove(board) === 0 ? 1 : -1
  const rated = TicTacToe.free(board).map((cell) => {
    const next = TicTacToe.ticTacToe.move(board, `[${cell}]`)
    return { cell, rating: next === undefined ? -Infinity : sign * value(next) }
  })
  return rated.reduce((best, other) => other.rating > best.rating ? other : best, { cell: -1, rating: -Infinity }).cell
}

/**
 * Always plays the best move, so it never loses.
 *
 * @see tinker-cookbook `OptimalOpponent`
 */
export const optimal: MessagePolicy.MessagePolicy = player(bestMove)
