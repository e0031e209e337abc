/**
 * The recipes that come with effect-rl.
 *
 * @example
 * const names = Recipes.all.map(({ name }) => name)
 */
import type { Hub } from "@effect-rl/files"
import type { Sandbox } from "@effect-rl/sandbox"
import type { FileSystem } from "effect/FileSystem"
import type { Path } from "effect/Path"
import { dpo, preferenceModel, preferenceRl, rlhf } from "./arithmetic/PreferredSums.ts"
import { arithmetic, plainArithmetic, smolLm2Sums } from "./arithmetic/SumRecipes.ts"
import { distill, onPolicyDistill, supervised } from "./arithmetic/SupervisedSums.ts"
import { calculator } from "./calculator/Calculator.ts"
import { codeRl } from "./code/CodeRl.ts"
import { distillMulti, multiTeacher } from "./distillation/MultiTeacher.ts"
import { distillPrompt, promptDistillation } from "./distillation/PromptDistillation.ts"
import { format } from "./format/Format.ts"
import { ticTacToe } from "./games/SelfPlayTicTacToe.ts"
import { gsm8k } from "./gsm8k/Gsm8k.ts"
import { guessNumber } from "./guessNumber/GuessNumber.ts"
import { lookup } from "./lookup/Lookup.ts"
import { deepMath, math, polaris } from "./math/Math.ts"
import type { Pipeline } from "./Pipeline.ts"
import type { Recipe } from "./Recipe.ts"
import { rubric } from "./rubric/RubricGraded.ts"
import { searchTool } from "./searchTool/SearchTool.ts"
import { twentyQuestions } from "./twentyQuestions/TwentyQuestions.ts"

export {
  arithmetic,
  calculator,
  codeRl,
  deepMath,
  distill,
  distillMulti,
  distillPrompt,
  dpo,
  format,
  gsm8k,
  guessNumber,
  lookup,
  math,
  multiTeacher,
  onPolicyDistill,
  plainArithmetic,
  polaris,
  preferenceModel,
  preferenceRl,
  promptDistillation,
  rlhf,
  rubric,
  searchTool,
  smolLm2Sums,
  supervised,
  ticTacToe,
  twentyQuestions
}

/** The services that recipes may require. */
export type Services = Hub.Hub | FileSystem | Path | Sandbox.Sandbox

/** Every recipe, in the order in which the command line lists them. */
export const all: ReadonlyArray<Recipe<unknown, Services>> = [
  arithmetic,
  plainArithmetic,
  smolLm2Sums,
  supervised,
  dpo,
  onPolicyDistill,
  multiTeacher,
  promptDistillation,
  preferenceModel,
  preferenceRl,
  rubric,
  gsm8k,
  math,
  deepMath,
  polaris,
  guessNumber,
  twentyQuestions,
  calculator,
  lookup,
  searchTool,
  format,
  ticTacToe,
  codeRl
]

/** Every pipeline of recipes. */
export const pipelines: ReadonlyArray<Pipeline<unknown, Services>> = [
  distill,
  distillMulti,
  distillPrompt,
  rlhf
]
