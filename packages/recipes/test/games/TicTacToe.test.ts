import { Game } from "@effect-rl/core/environments"
import { TicTacToe } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"

const { ticTacToe } = TicTacToe

const play = (...said: ReadonlyArray<string>) =>
  said.reduce((match, text) => Game.play(match, Game.toMove(match) ?? -1, text), Game.begin(ticTacToe))

describe("tic-tac-toe", () => {
  it("is started by O, who wins with three in a row", () => {
    const match = play("[0]", "[3]", "[1]", "[4]", "[2]")
    assert.deepStrictEqual(match.ending, { by: "rules", rewards: [1, -1] })
  })

  it("is won by X on a diagonal", () => {
    assert.deepStrictEqual(play("0", "2", "1", "4", "8", "6").ending?.rewards, [-1, 1])
  })

  it("is drawn when the board is full", () => {
    assert.deepStrictEqual(play("0", "1", "2", "4", "3", "5", "7", "6", "8").ending, { by: "rules", rewards: [0, 0] })
  })

  it.for(["[0]", "9", "middle", "", "[12]"])("ends with an impossible move (%j)", (said) => {
    assert.deepStrictEqual(play("0", said).ending, { by: "illegal_move", player: 1, rewards: [0, -2] })
  })

  it("reads a number in brackets before any other number", () => {
    assert.deepStrictEqual(play("I have 3 ideas, but [ 7 ] is best").state.cells[7], 0)
  })

  it("shows the board and the free cells", () => {
    assert.strictEqual(
      ticTacToe.view(play("4", "0").state, 0),
      "X | 1 | 2\n--+---+--\n3 | O | 5\n--+---+--\n6 | 7 | 8\n\nFree cells: 1, 2, 3, 5, 6, 7, 8. Your move:"
    )
  })

  it("tells each player its mark", () => {
    assert.include(ticTacToe.rules(0), "as O")
    assert.include(ticTacToe.rules(1), "as X")
  })
})
