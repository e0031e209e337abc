/** Trains a model to answer questions by searching documents. */
import {
  type ChatModel,
  type EnvGroupBuilder,
  Evaluator,
  type InvalidOption,
  RLDataset,
  Setting
} from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as OtherModel from "../OtherModel.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as Bm25 from "./Bm25.ts"
import * as SearchCorpus from "./SearchCorpus.ts"
import * as SearchEnv from "./SearchEnv.ts"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "Qwen/Qwen3.5-4B",
    iterations: 100,
    groupsPerBatch: 512,
    groupSize: 8,
    learningRate: 4e-5,
    maxTokens: 1024,
    evalEvery: 20
  }),
  data: Setting.text({
    default: SearchCorpus.gazetteerName,
    unit: "folder",
    help:
      `Folder with corpus.jsonl and the questions train and test, or ${SearchCorpus.gazetteerName} for made-up places`
  }),
  /** Where the answer is expected: marked with Answer: at the end, or alone as the whole last message. Default: marked. */
  form: Setting.choice({
    choices: SearchEnv.forms,
    default: "marked",
    identity: true,
    help: "Where the answer is expected: marked with Answer: at the end, or alone as the whole last message"
  }),
  /** Most turns of an episode; each turn may search. Default: 5 turns. */
  maxTurns: Setting.int({
    default: 5,
    least: 1,
    unit: "turns",
    identity: true,
    help: "Most turns of an episode; each turn may search"
  }),
  /** The most documents that a search returns. Default: 3 documents. */
  results: Setting.int({
    default: 3,
    least: 1,
    unit: "documents",
    identity: true,
    help: "The most documents that a search returns"
  }),
  /** Attempts at each held-out question. Default: 1 attempts. */
  testGroupSize: Setting.int({ default: 1, least: 1, unit: "attempts", help: "Attempts at each held-out question" }),
  /** Subtracted from the reward if no answer follows Answer:. Default: 0.1. */
  formatCoefficient: Setting.number({
    least: 0,
    default: 0.1,
    identity: true,
    help: "Subtracted from the reward if no answer follows Answer:"
  })
})

type Failure = InvalidOption.InvalidOption | Renderer.RendererError

/** The reference answer to a prompt: a search for the question, then its answer. */
const answerTo = (questions: ReadonlyArray<SearchCorpus.Question>, form: SearchEnv.Form) => (prompt: string) =>
  Option.map(
    Arr.findFirst(questions, ({ question }) => prompt.includes(question)),
    ({ answers: [answer = ""], question }) => {
      if (prompt.includes("<tool_response>")) return form === "marked" ? `Answer: ${answer}` : answer
      return `<tool_call>\n${JSON.stringify({ name: "search", arguments: { query: question } })}\n</tool_call>`
    }
  )

/**
 * Trains a model to answer questions with a tool that searches documents by BM25.
 *
 * @see tinker-cookbook `recipes/search_tool`
 */
export const searchTool = Recipe.make({
  name: "search_tool",
  description:
    "Questions to answer by searching documents (ranked by BM25); evaluated on questions about held-out places",
  onEngine: {
    says:
      "a short run on effect-rl/tiny-tools, which gets one document per search and answers without a line \"Answer:\": it learns " +
      "within minutes to search and to answer with what it found",
    settings: {
      model: "effect-rl/tiny-tools",
      form: "alone",
      results: 1,
      iterations: 20,
      groupsPerBatch: 16,
      learningRate: 1e-3,
      maxTokens: 48,
      maxTurns: 2,
      testGroupSize: 16,
      evalEvery: 20
    }
  },
  settings,
  build: Effect.fnUntraced(function*(given: ChatModel.ChatModel, settings) {
    const model = yield* OtherModel.withoutThinking(given)
    const {
      form,
      formatCoefficient,
      groupSize,
      groupsPerBatch,
      iterations,
      maxTokens,
      maxTurns,
      results,
      testGroupSize
    } = settings
    const { documents, test, train } = yield* SearchCorpus.load(settings.data)
    const index = Bm25.make(documents)
    const count = Math.min(groupsPerBatch, train.length)
    const group = (size: number) => (question: SearchCorpus.Question): EnvGroupBuilder.EnvGroupBuilder<Failure> => ({
      key: question.question,
      size,
      tags: ["search"],
      open: Effect.succeed({
        makeEnv: () => SearchEnv.make({ model, index, form, maxTurns, results, formatCoefficient, ...question })
      })
    })
    const options = TrainingSettings.options(model, settings)
    return yield* Recipe.task({
      turns: maxTurns,
      answerTo: answerTo([...train, ...test], form),
      options: {
        ...options,
        dataset: RLDataset.fromArray(train, {
          groupsPerBatch: count,
          shuffle: true,
          dropRemainder: true,
          epochs: Math.max(1, Math.ceil(iterations / Math.floor(train.length / count))),
          group: group(groupSize)
        }),
        run: {
          ...options.run,
          evaluators: [
            Evaluator.testSet({ name: "held_out", groups: test.map(group(testGroupSize)), maxTokens })
          ]
        }
      }
    })
  })
})
