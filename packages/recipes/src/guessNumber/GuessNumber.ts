/** Guessing a number: several turns with one policy, upstream's numbers in upstream's order. */
import { type ChatModel, type EnvGroupBuilder, Evaluator, type Renderer, RLDataset } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as PythonRandom from "../random/PythonRandom.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as GuessNumberEnv from "./GuessNumberEnv.ts"

const settings = Schema.Struct(TrainingSettings.fields({
  model: "Qwen/Qwen3-4B-Instruct-2507",
  iterations: 28,
  groupsPerBatch: 32,
  groupSize: 8,
  learningRate: 3e-5,
  maxTokens: 64,
  evalEvery: 5
}))

const numbers = Array.from(PythonRandom.sample(0, GuessNumberEnv.bound))

/** Nine tenths of all numbers. */
export const trained: ReadonlyArray<number> = numbers.slice(0, 921)

export const heldOut: ReadonlyArray<number> = numbers.slice(921)

export const group = (
  model: Pick<ChatModel.ChatModel, "renderer">,
  size: number,
  answer: number
): EnvGroupBuilder.EnvGroupBuilder<Renderer.RendererError> => ({
  key: String(answer),
  size,
  tags: ["guess_number"],
  open: Effect.succeed({ makeEnv: () => Effect.sync(() => GuessNumberEnv.make(model, answer)) })
})

const told = /Guess: (\d+)[^]*?(Too low|Too high)/g

/** Halves what is left. */
const answerTo = (prompt: string) => {
  let [low, high] = [0, GuessNumberEnv.bound - 1]
  for (const [, guess, verdict] of prompt.slice(prompt.indexOf("player")).matchAll(told)) {
    if (verdict === "Too low") low = Math.max(low, Number(guess) + 1)
    else high = Math.min(high, Number(guess) - 1)
  }
  return Option.some(`Guess: ${Math.floor((low + high) / 2)}`)
}

/** @see tinker-cookbook `recipes/multiplayer_rl/guess_number` */
export const guessNumber = Recipe.make({
  name: "guess-number",
  description: "A number below 1024 in ten guesses; evaluated on 103 held-out numbers",
  onEngine: "The engine does not have the default model, and its presets cannot guess: try --backend mock",
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const options = TrainingSettings.options(model, settings)
      const batches = Math.max(1, Math.floor(trained.length / settings.groupsPerBatch))
      return Recipe.task({
        turns: GuessNumberEnv.maxTurns,
        answerTo,
        options: {
          ...options,
          dataset: RLDataset.fromArray(trained, {
            groupsPerBatch: Math.min(settings.groupsPerBatch, trained.length),
            dropRemainder: true,
            epochs: Math.max(1, Math.ceil(settings.iterations / batches)),
            group: (answer) => group(model, settings.groupSize, answer)
          }),
          run: {
            ...options.run,
            evaluators: [
              Evaluator.testSet({
                name: "held_out",
                groups: heldOut.map((answer) => group(model, 4, answer)),
                maxTokens: settings.maxTokens
              })
            ]
          }
        }
      })
    })
})
