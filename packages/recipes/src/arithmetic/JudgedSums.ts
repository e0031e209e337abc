/** Teaches a small model to give answers that a preference model finds better than its others. */
import {
  type ChatModel,
  InvalidOption,
  Message,
  PairwisePreferenceGroupBuilder,
  type PreferenceModel,
  Rl,
  type SamplingClient,
  Setting,
  Tinker
} from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as MathEnv from "../math/MathEnv.ts"
import * as Recipe from "../Recipe.ts"
import * as TrainingSettings from "../TrainingSettings.ts"
import * as BoxedAddition from "./BoxedAddition.ts"
import * as ComparedSums from "./ComparedSums.ts"
import * as SumsToAnswer from "./SumsToAnswer.ts"

const settings = Schema.Struct({
  ...TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 15,
    groupsPerBatch: 32,
    groupSize: 4,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 15
  }),
  preferenceModel: Setting.text({
    help: "Checkpoint of a preference model of the same base model, as `train preference-model` saves it"
  })
})

type Settings = typeof settings.Type

/** The same sums as in `BoxedAddition.dataset`; answers are compared with each other, and never with the sum. */
const dataset = <E, R>(
  model: ChatModel.ChatModel,
  { groupSize, groupsPerBatch, iterations, preferenceModel }: Settings,
  judge: PreferenceModel.PreferenceModel<E, R>
) => ({
  length: iterations,
  fingerprint: `judged-addition-below-100/${groupsPerBatch}x${groupSize}/${preferenceModel}`,
  batch: (index: number, seed: number) =>
    Effect.sync(() =>
      BoxedAddition.pairs(index, groupsPerBatch, seed).map(([a, b], group) =>
        PairwisePreferenceGroupBuilder.make({
          key: `${group}/${a}+${b}`,
          size: groupSize,
          model,
          messages: [Message.user(MathEnv.question(`What is ${a} + ${b}?`))],
          preferenceModel: judge
        })
      )
    )
})

const missing = new InvalidOption.InvalidOption({
  field: "preferenceModel",
  found: "undefined",
  expected: "the sampler weights of a run of the recipe preference-model, which the recipe rlhf trains by itself"
})

/** @see tinker-cookbook `recipes/preference/rlhf/rlhf_pipeline.py: train_rl` */
export const preferenceRl = Recipe.make({
  name: "preference-rl",
  description:
    "Reinforcement learning against a preference model, on sums; evaluated on its own answers to 512 held-out problems",
  settings,
  build: Effect.fnUntraced(function*(model, settings) {
    const { groupSize, groupsPerBatch, iterations, maxTokens, preferenceModel } = settings
    const options = TrainingSettings.options(model, settings)
    const given = { ...options, run: { ...options.run, evaluators: [SumsToAnswer.evaluator(model, maxTokens)] } }
    const sums = BoxedAddition.dataset({ model, batches: iterations, groupsPerBatch, groupSize })
    const task = yield* Recipe.task({ options: { ...given, dataset: sums }, answerTo: SumsToAnswer.answerTo })
    if (preferenceModel === undefined) return { ...task, check: Effect.fail(missing), run: Stream.fail(missing) }
    const sampler = Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath: preferenceModel }))
    const judgedBy = (client: SamplingClient.SamplingClient) =>
      Rl.run({ ...given, dataset: dataset(model, settings, ComparedSums.judge(model, client)) })
    return {
      ...task,
      run: Stream.unwrap(Effect.map(sampler, judgedBy)),
      // Each answer is read once in every comparison that it takes part in.
      readers: 2 * (Math.min(groupSize, 4) - 1)
    }
  })
})
