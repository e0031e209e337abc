/** Trains a model to call a calculator and to answer with its result. */
import { type ChatModel, type EnvGroupBuilder, Evaluator, type InvalidOption, Setting } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as Calculation from "./Calculation.ts"
import * as CalculatorEnv from "./CalculatorEnv.ts"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "effect-rl/tiny-tasks",
    iterations: 20,
    groupsPerBatch: 16,
    groupSize: 8,
    learningRate: 1e-3,
    maxTokens: 48,
    evalEvery: 20
  }),
  /** short such as 27 * 63, or long such as (481 - 36) * 52 + 907. Default: short. */
  calculations: Setting.choice({
    choices: Calculation.lengths,
    default: "short",
    help: "short such as 27 * 63, or long such as (481 - 36) * 52 + 907"
  })
})

const evaluated = 256

type Failure = InvalidOption.InvalidOption | Renderer.RendererError

export const group = (
  model: ChatModel.ChatModel,
  size: number,
  { answer, expression }: Calculation.Calculation
): EnvGroupBuilder.EnvGroupBuilder<Failure> => ({
  key: expression,
  size,
  tags: ["calculator"],
  open: Effect.succeed({ makeEnv: () => CalculatorEnv.make({ model, expression, answer }) })
})

/** The reference answer to a prompt: a calculator call, or the result of the last call if the prompt contains one. */
const answerTo = (prompt: string) => {
  const answer = /<tool_response>\s*([^<]*?)\s*<\/tool_response>(?![^]*<tool_response>)/.exec(prompt)?.[1]
  if (answer !== undefined) return Option.some(answer)
  const expression = /What is (.+?)\? Use the calculator/.exec(prompt)?.[1]
  return Option.map(
    Option.fromUndefinedOr(expression),
    (expression) => `<tool_call>\n${JSON.stringify({ name: "calculator", arguments: { expression } })}\n</tool_call>`
  )
}

export const calculator = Recipe.make({
  name: "calculator",
  description: "Calculations with a calculator tool; evaluated on 256 held-out ones",
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const options = TrainingSettings.options(model, settings)
      return Recipe.task({
        turns: CalculatorEnv.maxTurns,
        answerTo,
        options: {
          ...options,
          dataset: {
            length: settings.iterations,
            fingerprint: `calculator/${settings.calculations}/${settings.groupsPerBatch}x${settings.groupSize}`,
            batch: (index, seed) =>
              Effect.sync(() =>
                Calculation.batch(index, settings.groupsPerBatch, settings.calculations, seed).map((calculation) =>
                  group(model, settings.groupSize, calculation)
                )
              )
          },
          run: {
            ...options.run,
            evaluators: [
              Evaluator.testSet({
                name: "held_out",
                groups: Calculation.heldOut(evaluated, settings.calculations).map((calculation) =>
                  group(model, 1, calculation)
                ),
                maxTokens: settings.maxTokens
              })
            ]
          }
        }
      })
    })
})
