/** Distills a teacher into a small model, on the small model's own answers. */
import { Credit, Rl, type SamplingClient, Setting, Tinker } from "@effect-rl/core"
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

/** A sampler of a model that the backend has under this name, or of a checkpoint. */
const samplerOf = Effect.fnUntraced(function*(teacher: string) {
  const tinker = yield* Tinker.Tinker
  const models = yield* tinker.models
  return yield* tinker.createSamplingClient(models.includes(teacher) ? { baseModel: teacher } : { modelPath: teacher })
})

/** The student answers, and each of its tokens is judged by how likely the teacher finds it. Rewards are reported, not trained on. */
export const distill = Recipe.make({
  name: "distill",
  description:
    "On-policy distillation on sums: a student's own answers, each token scored by a teacher's log-probability",
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
    const taughtBy = (teacher: SamplingClient.SamplingClient) =>
      Rl.run({ ...given, update: { ...given.update, credit: Credit.distill({ teacher }) } })
    return {
      ...(yield* Recipe.task({ options: given, answerTo: SumsToAnswer.answerTo })),
      run: Stream.unwrap(Effect.map(samplerOf(teacher), taughtBy)),
      readers: 1
    }
  })
})
