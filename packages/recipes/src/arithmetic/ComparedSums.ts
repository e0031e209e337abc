/** Trains a preference model: a small model that says which of two answers to a sum is better. */
import {
  type ChatModel,
  type Evaluator,
  Message,
  MessagePolicy,
  Supervised,
  SupervisedDataset,
  type TinkerError
} from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { PreferenceModel, Seed } from "@effect-rl/core/environments"
import { Proportion } from "@effect-rl/core/evaluation"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CommonSettings from "../CommonSettings.ts"
import * as ExampleSettings from "../ExampleSettings.ts"
import * as Recipe from "../Recipe.ts"
import * as SumsToAnswer from "./SumsToAnswer.ts"
import * as WorkedSum from "./WorkedSum.ts"

const settings = Schema.Struct(ExampleSettings.fields({
  model: "effect-rl/tiny-64",
  iterations: 120,
  batchSize: 32,
  learningRate: 2e-3,
  // At a constant rate some runs never learn more than to say one of the two letters.
  schedule: "linear",
  maxTokens: 40,
  evalEvery: 30
}))

/** A comparison, and which of its completions is right. */
interface Compared {
  readonly comparison: PreferenceModel.Comparison
  readonly verdict: "A" | "B"
}

/** The right answer comes first or second by chance, the same whenever it is asked for. */
const compared = ({ chosen, rejected }: WorkedSum.Preferred, index: number): Compared => {
  const prompt = chosen.slice(0, -1)
  const [right, wrong] = [chosen.slice(-1), rejected.slice(-1)]
  return Seed.derive(0, "ComparedSums", index) % 2 === 0
    ? { comparison: { prompt, completionA: right, completionB: wrong }, verdict: "A" }
    : { comparison: { prompt, completionA: wrong, completionB: right }, verdict: "B" }
}

const conversation = ({ comparison, verdict }: Compared): SupervisedDataset.Conversation => [
  ...PreferenceModel.conversation(comparison),
  Message.assistant(verdict)
]

/** The most likely verdict of a model that `preferenceModel` has trained; any other answer is a tie. */
export const judge = (
  model: ChatModel.ChatModel,
  client: SamplingClient.SamplingClient
): PreferenceModel.PreferenceModel<TinkerError.TinkerError | Renderer.RendererError> => {
  const policy = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 2, temperature: 0, seed: 0 })
  const { compare } = PreferenceModel.fromMessagePolicy(policy)
  return {
    compare: (comparison, key) => Effect.catchTag(compare(comparison, key), "JudgeError", () => Effect.succeed(0))
  }
}

/** How often the verdict on held-out comparisons is right. */
const evaluator = (model: ChatModel.ChatModel): Evaluator.Evaluator<SumsToAnswer.Error> => {
  const name = "held_out_comparisons"
  const comparisons = WorkedSum.heldOutPreferences().map(compared)
  return {
    name,
    evaluate: Effect.fnUntraced(function*(weights) {
      const { client } = yield* weights.sampler
      const { compare } = judge(model, client)
      const verdicts = yield* Effect.forEach(
        comparisons,
        ({ comparison, verdict }, index) =>
          Effect.map(compare(comparison, String(index)), (score) => score === (verdict === "A" ? -1 : 1)),
        { concurrency: "unbounded" }
      )
      const score = Proportion.wilson(verdicts.filter(Boolean).length, verdicts.length)
      return {
        name,
        metrics: { [`${name}/episodes`]: verdicts.length, [`${name}/accuracy`]: score.value },
        score,
        groups: []
      }
    }, Effect.scoped)
  }
}

/** @see tinker-cookbook `recipes/preference/rlhf/rlhf_pipeline.py: train_rm` */
export const preferenceModel = Recipe.make({
  name: "preference-model",
  description: "Learns to say which of two answers to a sum is right; evaluated on 256 held-out comparisons",
  settings,
  build: (model, settings) => {
    const examples = WorkedSum.preferences().map(compared).map(conversation)
    const dataset = SupervisedDataset.conversations(examples, {
      model,
      trainOn: "last_assistant_message",
      ...ExampleSettings.batches(examples, settings)
    })
    const options = CommonSettings.options(model, settings)
    const given = { ...options, dataset, run: { ...options.run, evaluators: [evaluator(model)] } }
    return SumsToAnswer.task(given, {
      run: Supervised.run(given),
      check: Supervised.validate(given),
      examples: dataset,
      maxTokens: settings.maxTokens
    })
  }
})
