/** Trains a model to guess a number over several turns. The numbers are the cookbook's, in its order. */
import { type ChatModel, type EnvGroupBuilder, Evaluator, RLDataset, Setting } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as PythonRandom from "../random/PythonRandom.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as GuessNumberEnv from "./GuessNumberEnv.ts"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "effect-rl/tiny-tasks",
    iterations: 24,
    groupsPerBatch: 28,
    groupSize: 8,
    learningRate: 2e-3,
    maxTokens: 12,
    evalEvery: 24
  }),
  /** Numbers are from 0 up to but excluding this one; the cookbook's is 1024. Default: 32. */
  range: Setting.int({
    default: 32,
    least: 10,
    help: "Numbers are from 0 up to but excluding this one; the cookbook's is 1024"
  }),
  /** Most guesses in one game; the cookbook's is 10. Default: 6 guesses. */
  maxTurns: Setting.int({
    default: 6,
    least: 1,
    unit: "guesses",
    help: "Most guesses in one game; the cookbook's is 10"
  })
})

/** Shuffles the numbers below `range` as the cookbook does: nine tenths to train on, the rest held out. */
export const split = (range: number) => {
  const numbers = Array.from(PythonRandom.sample(0, range))
  const trained = Math.floor(0.9 * range)
  return { trained: numbers.slice(0, trained), heldOut: numbers.slice(trained) }
}

/** The fewest games that an evaluation plays. */
const evaluated = 256

export const group = (
  model: Pick<ChatModel.ChatModel, "renderer">,
  size: GuessNumberEnv.Size,
  members: number,
  answer: number
): EnvGroupBuilder.EnvGroupBuilder<Renderer.RendererError> => ({
  key: String(answer),
  size: members,
  tags: ["guess_number"],
  form: `below ${size.range} in ${size.maxTurns} guesses`,
  open: Effect.succeed({ makeEnv: () => Effect.sync(() => GuessNumberEnv.make(model, answer, size)) })
})

/** The reference answer to a prompt: the middle of the numbers that are still possible. */
const answerTo = (range: number) => (prompt: string) => {
  const [lowest, highest] = GuessNumberEnv.leftOpen(prompt, range)
  return Option.some(`Guess: ${Math.floor((lowest + highest) / 2)}`)
}

/**
 * Trains a model to guess a number, by default below 32 in six guesses. The cookbook's game is `--range 1024
 * --max-turns 10`.
 *
 * @see tinker-cookbook `recipes/multiplayer_rl/guess_number`
 */
export const guessNumber = Recipe.make({
  name: "guess-number",
  description:
    "Guessing a number below 32 in six guesses (--range and --max-turns change these); evaluated on held-out numbers",
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const options = TrainingSettings.options(model, settings)
      const { heldOut, trained } = split(settings.range)
      const groupsPerBatch = Math.min(settings.groupsPerBatch, trained.length)
      return Recipe.task({
        turns: settings.maxTurns,
        answerTo: answerTo(settings.range),
        options: {
          ...options,
          dataset: RLDataset.fromArray(trained, {
            groupsPerBatch,
            dropRemainder: true,
            epochs: Math.max(1, Math.ceil(settings.iterations / Math.floor(trained.length / groupsPerBatch))),
            group: (answer) => group(model, settings, settings.groupSize, answer)
          }),
          run: {
            ...options.run,
            evaluators: [
              Evaluator.testSet({
                name: "held_out",
                groups: heldOut.map((answer) =>
                  group(model, settings, Math.max(4, Math.ceil(evaluated / heldOut.length)), answer)
                ),
                maxTokens: settings.maxTokens
              })
            ]
          }
        }
      })
    })
})
