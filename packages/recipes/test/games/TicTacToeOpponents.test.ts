import { Message, type MessagePolicy, Setting } from "@effect-rl/core"
import { Game } from "@effect-rl/core/environments"
import { type Recipe, Recipes, TicTacToe, TicTacToeOpponents } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { ticTacToe } = TicTacToe

/** What O gets. */
const play = (o: MessagePolicy.MessagePolicy, x: MessagePolicy.MessagePolicy, key = "") =>
  Effect.gen(function*() {
    let match = Game.begin(ticTacToe)
    for (let turn = 0; match.ending === undefined; turn++) {
      const at = Game.toMove(match)
      const said = yield* (at === 0 ? o : x).respond({ messages: [Game.shown(match, at ?? 0)], key: `${key}/${turn}` })
      match = Game.play(match, at ?? 0, Message.text(said))
    }
    assert.strictEqual(match.ending.by, "rules", "opponents make legal moves")
    return match.ending.rewards[0] ?? NaN
  })

const { optimal, random } = TicTacToeOpponents

describe("a perfect opponent", () => {
  it.effect("draws against itself", () => Effect.map(play(optimal, optimal), (reward) => assert.strictEqual(reward, 0)))

  it.effect("never loses on either side, and wins most games against a random opponent", () =>
    Effect.gen(function*() {
      const matches = Array.from({ length: 50 }, (_, match) => `${match}`)
      const asO = yield* Effect.forEach(matches, (key) => play(optimal, random(1), key))
      const asX = yield* Effect.forEach(matches, (key) => play(random(1), optimal, key))
      assert.isAtLeast(Math.min(...asO), 0)
      assert.isAtMost(Math.max(...asX), 0)
      assert.isAbove(asO.filter((reward) => reward === 1).length, 40)
    }))
})

it.effect("a random opponent's choices depend only on the key", () =>
  Effect.gen(function*() {
    const keys = Array.from({ length: 20 }, (_, match) => `${match}`)
    const first = yield* Effect.forEach(keys, (key) => play(random(2), random(3), key))
    assert.deepStrictEqual(yield* Effect.forEach(keys, (key) => play(random(2), random(3), key)), first)
    assert.isAbove(new Set(first).size, 1)
  }))

it("a board is read back from its text", () => {
  const { state } = ["4", "0", "2"].reduce(
    (match, said) => Game.play(match, Game.toMove(match) ?? -1, said),
    Game.begin(ticTacToe)
  )
  assert.deepStrictEqual(
    TicTacToe.read(`before\n${ticTacToe.view(ticTacToe.start, 0)}\n${ticTacToe.view(state, 1)}`),
    state
  )
  assert.deepStrictEqual(TicTacToe.read("no board"), ticTacToe.start)
})

describe("the recipe tic-tac-toe", () => {
  const build = Effect.gen(function*() {
    const { build } = yield* Recipes.ticTacToe.configure({ groupsPerBatch: 3 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("plays matches with two sides", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      const groups = yield* dataset.batch(0, 0)
      assert.deepStrictEqual(groups.map(({ coupled, key, size }) => [key, size, coupled]), [
        ["match/0", 2, true],
        ["match/1", 2, true],
        ["match/2", 2, true]
      ])
    }))

  it.effect("has no setting for the group size", () =>
    Effect.sync(() => assert.notProperty(Recipes.ticTacToe.settings.fields, "groupSize")))

  it.effect("lowers its learning rate linearly by default, unlike other recipes", () =>
    Effect.sync(() => {
      const scheduleOf = ({ settings }: Pick<Recipe.Recipe, "settings">) =>
        Object.entries(settings.fields).flatMap(([name, field]) =>
          name === "schedule" ? Setting.of(field)?.default : []
        )
      assert.deepStrictEqual([Recipes.ticTacToe, Recipes.guessNumber].flatMap(scheduleOf), ["linear", "constant"])
    }))

  it.effect("gives a perfect player's move as the reference answer", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build
      const { state } = Game.play(Game.play(Game.play(Game.begin(ticTacToe), 0, "0"), 1, "4"), 0, "1")
      assert.deepStrictEqual(answerTo(ticTacToe.view(state, 1)), Option.some("[2]"))
    }))
})
