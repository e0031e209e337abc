/** Trains a model to play tic-tac-toe against itself. */
import { type ChatModel, Evaluator, type MessagePolicy, SelfPlay } from "@effect-rl/core"
import { Versus } from "@effect-rl/core/environments"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as TicTacToe from "./TicTacToe.ts"
import * as TicTacToeOpponents from "./TicTacToeOpponents.ts"

/**
 * The settings, without a group size because a match has two sides. The learning rate falls, because at a constant rate
 * the player learns only a few openings and forgets how to answer others.
 */
const { groupSize: _, ...fields } = TrainingSettings.fields({
  model: "effect-rl/tiny-tasks",
  iterations: 30,
  groupsPerBatch: 48,
  groupSize: 2,
  learningRate: 1e-3,
  schedule: "linear",
  maxTokens: 8,
  evalEvery: 30
})

const settings = Schema.Struct(fields)

const evaluated = 64

/** An evaluator with 64 pairs of matches against an opponent. The model plays each side once in a pair. */
const against = (
  name: string,
  model: ChatModel.ChatModel,
  opponent: MessagePolicy.MessagePolicy,
  maxTokens: number
) =>
  Evaluator.testSet({
    name,
    maxTokens,
    groups: Array.from({ length: evaluated }, (_, match) =>
      Versus.make({ key: `${name}/${match}`, size: 2, model, game: TicTacToe.ticTacToe, opponent }))
  })

const answerTo = (prompt: string) => {
  const board = TicTacToe.read(prompt)
  return Option.liftPredicate(`[${TicTacToeOpponents.bestMove(board)}]`, (move) => move !== "[-1]")
}

/**
 * Trains by self-play, and evaluates against a random and a perfect opponent.
 *
 * @see tinker-cookbook `recipes/multiplayer_rl/text_arena`
 */
export const ticTacToe = Recipe.make({
  name: "tic-tac-toe",
  description: "Tic-tac-toe by self-play; evaluated against a random and a perfect opponent, 64 matches per side",
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const options = TrainingSettings.options(model, settings)
      return Recipe.task({
        turns: 5,
        answerTo,
        // The best move never loses, but whether it wins depends on the opponent.
        referenceReward: 0,
        options: {
          ...options,
          dataset: {
            length: settings.iterations,
            fingerprint: `tic-tac-toe/${settings.groupsPerBatch}`,
            batch: () =>
              Effect.sync(() =>
                Array.from({ length: settings.groupsPerBatch }, (_, match) =>
                  SelfPlay.make({ key: `match/${match}`, model, game: TicTacToe.ticTacToe, tags: ["tic_tac_toe"] }))
              )
          },
          run: {
            ...options.run,
            evaluators: [
              against("random", model, TicTacToeOpponents.random(0), settings.maxTokens),
              against("perfect", model, TicTacToeOpponents.optimal, settings.maxTokens)
            ]
          }
        }
      })
    })
})
