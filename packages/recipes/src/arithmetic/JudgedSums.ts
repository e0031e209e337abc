/** Trains a small model to give answers that a preference model prefers to its other answers. */
import {
  type ChatModel,
  Message,
  PairwisePreferenceGroupBuilder,
  Rl,
  Setting,
  Tinker,
  type TinkerError
} from "@effect-rl/core"
import type { PreferenceModel } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
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
    help: "Checkpoint of a preference model of the same base model, as `train preference-model` saves it; " +
      "unless given, a perfect one, which prefers right answers"
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
  fingerprint: `judged-addition-below-100/${groupsPerBatch}x${groupSize}/${preferenceModel ?? "perfect"}`,
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

type Judge = PreferenceModel.PreferenceModel<TinkerError.TinkerError | Renderer.RendererError>

const isRight = ({ prompt }: PreferenceModel.Comparison, completion: ReadonlyArray<Message.Message>) => {
  const [asked, said] = [prompt, completion].map((messages) => messages.map(Message.text).join("\n"))
  return Option.match(SumsToAnswer.answerTo(asked ?? ""), {
    onNone: () => Effect.succeed(false),
    onSome: (sum) => MathEnv.checkAnswer(sum)(said ?? "")
  })
}

/** Prefers a right answer to a wrong one; all other pairs are ties. */
const perfect: Judge = {
  compare: (comparison) =>
    Effect.zipWith(
      isRight(comparison, comparison.completionA),
      isRight(comparison, comparison.completionB),
      (isRightA, isRightB) => Number(isRightB) - Number(isRightA)
    )
}

/** The preference model of a checkpoint, or a perfect one. */
const judgeOf = Effect.fnUntraced(function*(model: ChatModel.ChatModel, modelPath: string | undefined) {
  if (modelPath === undefined) return perfect
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ modelPath }))
  const judge: Judge = ComparedSums.judge(model, client)
  return judge
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
    const judgedBy = (judge: Judge) => Rl.run({ ...given, dataset: dataset(model, settings, judge) })
    return {
      ...task,
      run: Stream.unwrap(Effect.map(judgeOf(model, preferenceModel), judgedBy)),
      // Each answer is read once in every comparison that it takes part in.
      readers: preferenceModel === undefined ? 0 : 2 * (Math.min(groupSize, 4) - 1)
    }
  })
})
