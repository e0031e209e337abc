/** The game of tic-tac-toe. Player 0 plays O and moves first; player 1 plays X. */
import type { Game } from "@effect-rl/core/environments"

export interface Board {
  /** The player whose mark is in each cell, row by row; undefined if the cell is empty. */
  readonly cells: ReadonlyArray<number | undefined>
}

const lines = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]] as const

/** The player with three in a row, or undefined if there is none. */
export const winner = ({ cells }: Board): number | undefined => {
  const line = lines.find(([a, b, c]) => cells[a] !== undefined && cells[a] === cells[b] && cells[b] === cells[c])
  return line === undefined ? undefined : cells[line[0]]
}

/** Cells without a mark. */
export const free = ({ cells }: Board) => [...cells.keys()].filter((cell) => cells[cell] === undefined)

const marks = ["O", "X"]

const row = ({ cells }: Board, first: number) =>
  [0, 1, 2].map((column) => marks[cells[first + column] ?? -1] ?? String(first + column)).join(" | ")

const picture = (board: Board) => [0, 3, 6].map((first) => row(board, first)).join("\n--+---+--\n")

const rows = /([OX\d]) \| ([OX\d]) \| ([OX\d])/g

/** The last board in a text, or an empty board if the text has none. */
export const read = (text: string): Board => {
  const shown = [...text.matchAll(rows)].slice(-3).flatMap(([, ...cells]) => cells)
  return {
    cells: Array.from({ length: 9 }, (_, cell) => shown[cell] === "O" ? 0 : shown[cell] === "X" ? 1 : undefined)
  }
}

/** The first number in brackets, or else the first number, or else NaN. */
const cellIn = (response: string) => Number(/\[\s*(\d+)\s*\]/.exec(response)?.[1] ?? /\d+/.exec(response)?.[0] ?? NaN)

/**
 * Tic-tac-toe as a `Game`: the reward of a player is 1 for a win, 0 for a draw and −1 for a loss.
 *
 * @see tinker-cookbook `recipes/multiplayer_rl/text_arena`, TicTacToe-v0
 *
 * @example
 * const group = SelfPlay.make({ key: "game 1", model, game: TicTacToe.ticTacToe })
 */
export const ticTacToe: Game.Game<Board> = {
  players: 2,
  start: { cells: Array.from({ length: 9 }, () => undefined) },
  toMove: (board) => winner(board) === undefined && free(board).length > 0 ? (free(board).length + 1) % 2 : undefined,
  rules: (player) =>
    `You play tic-tac-toe as ${marks[player]}. Three in a row, column or diagonal win. ` +
    "Answer with the number of a free cell in brackets, such as [4].",
  view: (board) => `${picture(board)}\n\nFree cells: ${free(board).join(", ")}. Your move:`,
  move: (board, said) => {
    const cell = cellIn(said)
    if (!free(board).includes(cell)) return undefined
    const player = (free(board).length + 1) % 2
    return { cells: board.cells.map((mark, at) => at === cell ? player : mark) }
  },
  rewards: (board) => {
    const won = winner(board)
    return won === undefined ? [0, 0] : [0, 1].map((player) => player === won ? 1 : -1)
  }
}
