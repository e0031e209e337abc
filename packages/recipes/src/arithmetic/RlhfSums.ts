/** Reinforcement learning from preferences in three stages, on sums. */
import { Setting } from "@effect-rl/core"
import type { Judge } from "@effect-rl/core/environments"
import { RunOptions } from "@effect-rl/core/program"
import * as Schema from "effect/Schema"
import * as Pipeline from "../Pipeline.ts"
import { preferenceModel } from "./ComparedSums.ts"
import { preferenceRl } from "./JudgedSums.ts"
import type * as SumsToAnswer from "./SumsToAnswer.ts"
import { supervised } from "./SupervisedSums.ts"

const iterations = (count: number, help: string) => Setting.int({ default: count, least: 1, unit: "iterations", help })

const settings = Schema.Struct({
  model: Setting.text({
    default: "effect-rl/tiny-64",
    help: "Base model, of the policy and of the preference model"
  }),
  seed: RunOptions.RunSettings.fields.seed,
  supervisedIterations: iterations(5, "Length of the first stage, which imitates worked sums"),
  preferenceIterations: iterations(
    120,
    "Length of the second stage, which learns to tell right answers from wrong ones"
  ),
  rlIterations: iterations(8, "Length of the third stage, whose answers the preference model compares"),
  groupsPerBatch: Setting.int({
    default: 32,
    least: 1,
    unit: "problems",
    help: "Problems in each iteration of the third"
  }),
  groupSize: Setting.int({
    default: 4,
    least: 2,
    unit: "attempts",
    help: "Answers to each problem, compared in pairs"
  }),
  klCoefficient: Setting.number({
    least: 0,
    default: 0.2,
    help:
      "How strongly the third stage is held near the first one's policy; without it the preference model is exploited"
  }),
  maxTokens: Setting.int({ default: 40, least: 1, unit: "tokens", help: "Longest answer" }),
  saveEvery: Setting.int({
    default: 5,
    least: 0,
    unit: "iterations",
    help: "Iterations between checkpoints of a stage"
  })
})

/**
 * The first stage is short: the rest is learned in the third, which never sees whether an answer is right. Each stage is
 * evaluated on held-out problems before and after.
 *
 * @see tinker-cookbook `recipes/preference/rlhf/rlhf_pipeline.py`
 */
export const rlhf = Pipeline.make({
  name: "rlhf",
  description:
    "Three stages on sums: imitates worked ones, trains a preference model on right and wrong answers, then learns against it",
  settings,
  stages: (settings): ReadonlyArray<Pipeline.Stage<SumsToAnswer.Error | Judge.JudgeError>> => {
    const { groupSize, groupsPerBatch, maxTokens, model, saveEvery, seed } = settings
    const lasting = (iterations: number) => ({ model, seed, maxTokens, saveEvery, iterations, evalEvery: iterations })
    return [
      { name: "supervised", recipe: supervised, settings: () => lasting(settings.supervisedIterations) },
      { name: "preference-model", recipe: preferenceModel, settings: () => lasting(settings.preferenceIterations) },
      {
        name: "preference-rl",
        recipe: preferenceRl,
        settings: (of) => ({
          ...lasting(settings.rlIterations),
          schedule: "linear",
          groupsPerBatch,
          groupSize,
          klCoefficient: settings.klCoefficient,
          klReference: of("supervised").samplerPath,
          loadCheckpointPath: of("supervised").statePath,
          preferenceModel: of("preference-model").samplerPath
        })
      }
    ]
  }
})
