/** Distills a teacher into a small model, on the small model's own answers. */
import { type ChatModel, Credit, InvalidOption, Rl, Setting, Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as CommonSettings from "../CommonSettings.ts"
import * as Recipe from "../Recipe.ts"
import * as BoxedAddition from "./BoxedAddition.ts"
import * as SumsToAnswer from "./SumsToAnswer.ts"

const settings = Schema.Struct({
  ...CommonSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 40,
    learningRate: 1e-3,
    maxTokens: 40,
    evalEvery: 40
  }),
  groupsPerBatch: Setting.int({ default: 64, least: 1, unit: "problems", help: "Problems in each iteration" }),
  groupSize: Setting.int({ default: 2, least: 1, unit: "attempts", help: "Answers to each problem" }),
  teacher: Setting.text({
    default: "effect-rl/tiny-128",
    help: "Model to learn from, or the path of a checkpoint; its tokenizer must be the student's"
  })
})

/** Fails where the backend knows that the teacher does not read the student's tokens. */
const checkTokenizer = Effect.fnUntraced(function*(teacher: string, { capabilities, name }: ChatModel.ChatModel) {
  const own = capabilities.tokenizerFingerprint
  const { tokenizerFingerprint = own } = yield* Tinker.Tinker.use((tinker) => tinker.capabilities(teacher))
  if (own === undefined || tokenizerFingerprint === own) return
  return yield* new InvalidOption.InvalidOption({
    field: "teacher",
    found: teacher,
    expected: `a model or a checkpoint with the tokenizer of ${name}; the pipeline distill trains one first`
  })
})

/** A sampler of a model that the backend has under this name, or of a checkpoint. */
const samplerOf = Effect.fnUntraced(function*(teacher: string, student: ChatModel.ChatModel) {
  const tinker = yield* Tinker.Tinker
  const models = yield* tinker.models
  if (!models.includes(teacher)) return yield* tinker.createSamplingClient({ modelPath: teacher })
  yield* checkTokenizer(teacher, student)
  return yield* tinker.createSamplingClient({ baseModel: teacher })
})

/**
 * The student answers, and each of its tokens is judged by how likely the teacher finds it. Rewards are reported, not trained on.
 *
 * @see tinker-cookbook `recipes/distillation/on_policy_distillation.py`
 */
export const onPolicyDistill = Recipe.make({
  name: "on-policy-distill",
  description: "Learns from a teacher's log-probabilities of the student's own answers to sums",
  settings,
  build: Effect.fnUntraced(function*(model, settings) {
    const { groupSize, groupsPerBatch, iterations, maxTokens, teacher } = settings
    const options = CommonSettings.options(model, settings)
    const dataset = BoxedAddition.dataset({ model, batches: iterations, groupsPerBatch, groupSize })
    const given = {
      ...options,
      dataset,
      sampling: { maxTokens },
      run: { ...options.run, evaluators: [SumsToAnswer.evaluator(model, maxTokens)] }
    }
    const run = Effect.map(
      samplerOf(teacher, model),
      (teacher) => Rl.run({ ...given, update: { ...given.update, credit: Credit.distill({ teacher }) } })
    )
    return {
      ...(yield* Recipe.task({ options: given, answerTo: SumsToAnswer.answerTo })),
      run: Stream.unwrap(run),
      readers: 1
    }
  })
})
