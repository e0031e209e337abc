/** Trains a model to look up a fact with a search tool. */
import { type ChatModel, type EnvGroupBuilder, Evaluator, type InvalidOption } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as Directory from "./Directory.ts"
import * as LookupEnv from "./LookupEnv.ts"

const settings = Schema.Struct(TrainingSettings.fields({
  model: "effect-rl/tiny-tasks",
  iterations: 20,
  groupsPerBatch: 16,
  groupSize: 8,
  learningRate: 1e-3,
  maxTokens: 48,
  evalEvery: 20
}))

const evaluated = 256

type Failure = InvalidOption.InvalidOption | Renderer.RendererError

const group = (
  model: ChatModel.ChatModel,
  size: number,
  problem: LookupEnv.Problem,
  index: number
): EnvGroupBuilder.EnvGroupBuilder<Failure> => ({
  key: `${index}/${problem.name}`,
  size,
  tags: ["lookup"],
  open: Effect.succeed({ makeEnv: () => LookupEnv.make({ model, ...problem }) })
})

/** Problems for names drawn with replacement. Each problem has its own directory. */
const problems = (names: ReadonlyArray<string>, count: number, seed: number): ReadonlyArray<LookupEnv.Problem> => {
  const next = Seed.uniform(seed)
  return Array.from({ length: count }, (_, index) => ({
    name: names[Math.floor(next() * names.length)] ?? "",
    seed: Seed.derive(seed, index)
  }))
}

/** The reference answer to a prompt: a search for the whole name, or the room if the prompt contains it. */
const answerTo = (prompt: string) => {
  const name = /Which room does (.+?) have\?/.exec(prompt)?.[1] ?? ""
  const room = prompt.split(`${name}: `)[1]?.match(/^\d+/)?.[0]
  const call = `<tool_call>\n${JSON.stringify({ name: "search", arguments: { query: name } })}\n</tool_call>`
  return name === "" ? Option.none() : Option.some(room ?? call)
}

export const lookup = Recipe.make({
  name: "lookup",
  description: "Questions about people's rooms, with a search tool; evaluated on 256 questions about held-out people",
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const { groupsPerBatch, groupSize, iterations, maxTokens } = settings
      const options = TrainingSettings.options(model, settings)
      const groups = problems(Directory.heldOut, evaluated, 0).map((problem, index) => group(model, 1, problem, index))
      return Recipe.task({
        turns: LookupEnv.maxTurns,
        answerTo,
        options: {
          ...options,
          dataset: {
            length: iterations,
            fingerprint: `lookup/${groupsPerBatch}x${groupSize}`,
            batch: (index, seed) =>
              Effect.sync(() =>
                problems(Directory.trained, groupsPerBatch, Seed.derive(seed, "lookup", index)).map((problem, index) =>
                  group(model, groupSize, problem, index)
                )
              )
          },
          run: { ...options.run, evaluators: [Evaluator.testSet({ name: "held_out", groups, maxTokens })] }
        }
      })
    })
})
