/** Trains a model to find a thing by yes-or-no questions. */
import {
  type ChatModel,
  type EnvGroupBuilder,
  Evaluator,
  type InvalidOption,
  Setting,
  type TinkerError
} from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as OtherModel from "../OtherModel.ts"
import * as PythonRandom from "../random/PythonRandom.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as Answerer from "./Answerer.ts"
import { nouns } from "./Nouns.ts"
import * as Things from "./Things.ts"
import * as TwentyQuestionsEnv from "./TwentyQuestionsEnv.ts"

const scripted = "scripted"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "Qwen/Qwen3.5-4B",
    iterations: 214,
    groupsPerBatch: 64,
    groupSize: 8,
    learningRate: 3e-5,
    maxTokens: 20,
    evalEvery: 5
  }),
  /** Model that answers the questions about common nouns; scripted, the answers are written for a few things. Default: Qwen/Qwen3.5-9B. */
  answerer: Setting.text({
    default: "Qwen/Qwen3.5-9B",
    unit: "model",
    identity: true,
    help: `Model that answers the questions about common nouns; ${scripted}, the answers are written for a few things`
  }),
  /** Most questions and guesses in one game. Default: 20 turns. */
  maxTurns: Setting.int({
    default: 20,
    least: 1,
    unit: "turns",
    identity: true,
    help: "Most questions and guesses in one game"
  }),
  /** Games about each held-out word. Default: 32 games. */
  testGroupSize: Setting.int({ default: 32, least: 1, unit: "games", help: "Games about each held-out word" })
})

type Failure = TinkerError.TinkerError | InvalidOption.InvalidOption | Renderer.RendererError

type OpenAnswerer = Effect.Effect<
  Answerer.Answerer<TinkerError.TinkerError | Renderer.RendererError>,
  TinkerError.TinkerError,
  Scope.Scope
>

const longestAnswer = 5

const answererOf = Effect.fnUntraced(function*(name: string) {
  if (name === scripted) return Effect.succeed(Answerer.scripted)
  const open = yield* OtherModel.make("answerer", name, { maxTokens: longestAnswer, temperature: 1 })
  return Effect.map(open, Answerer.fromMessagePolicy)
})

/** Shuffles the words as the cookbook does, and holds out the last fifth, at most 100. */
export const split = (words: ReadonlyArray<string>) => {
  const shuffled = Array.from(PythonRandom.sample(0, words.length)).reverse().flatMap((at) => words[at] ?? [])
  const heldOut = Math.min(Math.floor(words.length / 5), 100)
  return { trained: shuffled.slice(0, words.length - heldOut), heldOut: shuffled.slice(words.length - heldOut) }
}

/** The words of a batch. Each batch continues where the previous one ended. */
const wordsOf = (words: ReadonlyArray<string>, batch: number, count: number) =>
  Array.from({ length: count }, (_, at) => words[(batch * count + at) % words.length] ?? "")

/** The group of games about one thing. */
export const group = (
  model: Pick<ChatModel.ChatModel, "renderer">,
  { maxTurns, size }: { readonly maxTurns: number; readonly size: number },
  answerer: OpenAnswerer
) =>
(thing: string): EnvGroupBuilder.EnvGroupBuilder<Failure> => ({
  key: thing,
  size,
  tags: ["twenty_questions"],
  form: `${maxTurns} turns`,
  open: Effect.map(answerer, (answerer) => ({
    makeEnv: (_, { key }) => TwentyQuestionsEnv.make({ model, thing, answerer, maxTurns, key })
  }))
})

/**
 * Trains a model to find a word by yes-or-no questions to a script or another model.
 *
 * @see tinker-cookbook `recipes/multiplayer_rl/twenty_questions`
 */
export const twentyQuestions = Recipe.make({
  name: "twenty_questions",
  description:
    "Finding a word by yes-or-no questions, which another model or a script answers; evaluated on held-out words",
  sample: { answerer: scripted, testGroupSize: 1 },
  onEngine: {
    says:
      "a short run on effect-rl/tiny-questions, which asks and guesses at random: it learns within two minutes to ask until one of " +
      `${Things.names.length} things is left, and then to name it`,
    settings: {
      model: "effect-rl/tiny-questions",
      answerer: scripted,
      maxTurns: 8,
      iterations: 24,
      groupsPerBatch: 22,
      groupSize: 8,
      learningRate: 2e-3,
      maxTokens: 12,
      testGroupSize: 48,
      evalEvery: 24
    }
  },
  settings,
  build: Effect.fnUntraced(function*(given, settings) {
    const model = yield* OtherModel.withoutThinking(given)
    const { answerer, groupSize, groupsPerBatch, iterations, maxTokens, maxTurns, testGroupSize } = settings
    const opened = yield* answererOf(answerer)
    const { heldOut, trained } = split(answerer === scripted ? Things.names : nouns)
    const groupOf = (size: number) => group(model, { maxTurns, size }, opened)
    const count = Math.min(groupsPerBatch, trained.length)
    const groups = heldOut.map(groupOf(testGroupSize))
    const options = TrainingSettings.options(model, settings)
    return yield* Recipe.task({
      turns: maxTurns,
      answerTo: answerer === scripted ? (prompt) => Option.some(Things.next(prompt)) : () => Option.none(),
      options: {
        ...options,
        dataset: {
          length: iterations,
          fingerprint: `twenty_questions/${trained.length}/${maxTurns}/${count}x${groupSize}`,
          batch: (index) => Effect.sync(() => wordsOf(trained, index, count).map(groupOf(groupSize)))
        },
        run: { ...options.run, evaluators: [Evaluator.testSet({ name: "held_out", groups, maxTokens })] }
      }
    })
  })
})
