/** Distillation on sums, with a teacher that is trained first. */
import { Setting } from "@effect-rl/core"
import { RunOptions } from "@effect-rl/core/program"
import * as Schema from "effect/Schema"
import * as Pipeline from "../Pipeline.ts"
import { onPolicyDistill } from "./OnPolicyDistillation.ts"
import type * as SumsToAnswer from "./SumsToAnswer.ts"
import { supervised } from "./SupervisedSums.ts"

const settings = Schema.Struct({
  model: Setting.text({ default: "effect-rl/tiny-64", help: "Base model, of the teacher and of the student" }),
  seed: RunOptions.RunSettings.fields.seed,
  teacherIterations: Setting.int({
    default: 40,
    least: 1,
    unit: "iterations",
    help: "Length of the first stage, in which the teacher imitates worked sums"
  }),
  iterations: Setting.int({
    default: 40,
    least: 1,
    unit: "iterations",
    help: "Length of the second stage, in which the teacher scores the student's own answers"
  }),
  maxTokens: Setting.int({ default: 40, least: 1, unit: "tokens", help: "Longest answer" })
})

/** The student never sees a worked sum: all that it learns is in the teacher's log-probabilities of its own answers. */
export const distill = Pipeline.make({
  name: "distill",
  description:
    "Two stages on sums: trains a teacher on worked ones, then a student on its own answers, which the teacher scores",
  settings,
  stages: ({ iterations, maxTokens, model, seed, teacherIterations }): ReadonlyArray<
    Pipeline.Stage<SumsToAnswer.Error>
  > => {
    const lasting = (iterations: number) => ({ model, seed, maxTokens, iterations, evalEvery: iterations })
    return [
      { name: "teacher", recipe: supervised, settings: () => lasting(teacherIterations) },
      {
        name: "student",
        recipe: onPolicyDistill,
        settings: (of) => ({ ...lasting(iterations), teacher: of("teacher").samplerPath })
      }
    ]
  }
})
