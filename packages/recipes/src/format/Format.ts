/** Trains a model to write a list in a requested format. */
import { type ChatModel, Evaluator, ProblemEnv, ProblemGroupBuilder, RLDataset } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"

const settings = Schema.Struct(TrainingSettings.fields({
  model: "effect-rl/tiny-tasks",
  iterations: 25,
  groupsPerBatch: 16,
  groupSize: 8,
  learningRate: 1e-3,
  maxTokens: 32,
  evalEvery: 25
}))

export const words = ["sun", "sea", "tree", "stone", "bird", "rain", "moon", "fish", "leaf", "wind"]

/** How a list is written and read. Text in another format reads as an empty list or as different words. */
export interface Format {
  readonly name: string
  readonly write: (words: ReadonlyArray<string>) => string
  readonly read: (text: string) => ReadonlyArray<string>
}

const Strings = Schema.fromJsonString(Schema.Array(Schema.String))

export const json: Format = {
  name: "a JSON array",
  write: (words) => JSON.stringify(words),
  read: (text) => Option.getOrElse(Schema.decodeUnknownOption(Strings)(text), () => [])
}

export const formats: ReadonlyArray<Format> = [
  json,
  {
    name: "a bullet list",
    write: (words) => words.map((word) => `- ${word}`).join("\n"),
    read: (text) => text.split("\n").map((line) => /^- (.+)$/.exec(line.trimEnd())?.[1] ?? "")
  },
  {
    name: "semicolon-separated values",
    write: (words) => words.join("; "),
    read: (text) => text.includes(";") ? text.split(";").map((word) => word.trim()) : []
  }
]

/** Words to list, and the format to write them in. */
export interface Task extends Format {
  readonly words: ReadonlyArray<string>
}

export const triples = words.flatMap((a) =>
  words.flatMap((b) => words.flatMap((c) => new Set([a, b, c]).size === 3 ? [[a, b, c]] : []))
)

const inEveryFormat = (triples: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<Task> =>
  triples.flatMap((words) => formats.map((format) => ({ ...format, words })))

/** Whether words are held out, in every format. One triple in eight is. */
export const isHeldOut = (words: ReadonlyArray<string>) => Seed.derive(0, words.join()) % 8 === 0
const trained = inEveryFormat(triples.filter((words) => !isHeldOut(words)))
const heldOut = inEveryFormat(triples.filter(isHeldOut))

/**
 * The text that asks the model for a list in a format.
 *
 * @example
 * const asked = Format.question({ name: "a JSON array", words: ["sun", "sea", "tree"] })
 */
export const question = ({ name, words }: Pick<Task, "name" | "words">) => `Write ${words.join(", ")} as ${name}.`

/** Whether a text is exactly the list in the requested format. */
export const isRight = ({ read, words }: Task) => (text: string) => Equal.equals(read(text.trim()), words)

const group = (model: ChatModel.ChatModel, size: number) => (task: Task) =>
  ProblemGroupBuilder.make({
    key: question(task),
    size,
    env: () =>
      ProblemEnv.make({
        model,
        question: question(task),
        referenceAnswer: task.write(task.words),
        checkAnswer: isRight(task)
      })
  })

/** The answer to the list that a prompt asks for; none if the prompt asks for no list of this task. */
export const answerTo = (prompt: string) =>
  Option.map(
    Arr.findFirst([...trained, ...heldOut], (task) => prompt.includes(question(task))),
    ({ words, write }) => write(words)
  )

/** Lists to train on, in every format. Each epoch is shuffled again. */
export const dataset = (
  model: ChatModel.ChatModel,
  { groupsPerBatch, groupSize, iterations }: Pick<
    TrainingSettings.TrainingSettings,
    "groupsPerBatch" | "groupSize" | "iterations"
  >
) =>
  RLDataset.fromArray(trained, {
    groupsPerBatch,
    shuffle: true,
    epochs: Math.max(1, Math.ceil(iterations / Math.ceil(trained.length / groupsPerBatch))),
    group: group(model, groupSize)
  })

/** Every held-out list in every format, one attempt each. */
export const heldOutGroups = (model: ChatModel.ChatModel) => heldOut.map(group(model, 1))

export const format = Recipe.make({
  name: "format",
  description:
    `Lists of words in the requested format (JSON, bullets or semicolons); evaluated on ${heldOut.length} held-out lists`,
  settings,
  build: (model, settings) =>
    Effect.suspend(() => {
      const { maxTokens } = settings
      const options = TrainingSettings.options(model, settings)
      const groups = heldOutGroups(model)
      return Recipe.task({
        answerTo,
        options: {
          ...options,
          dataset: dataset(model, settings),
          run: { ...options.run, evaluators: [Evaluator.testSet({ name: "held_out", groups, maxTokens })] }
        }
      })
    })
})
