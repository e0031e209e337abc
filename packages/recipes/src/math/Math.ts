/** Competition problems of MATH, DeepMath and POLARIS, evaluated on MATH-500. */
import * as Schema from "effect/Schema"
import * as MathSets from "../datasets/MathSets.ts"
import * as Recipe from "../Recipe.ts"
import * as BoxedProblems from "./BoxedProblems.ts"
import * as MathSource from "./MathSource.ts"

const defaults = {
  model: "Qwen/Qwen3-8B",
  iterations: 188,
  groupsPerBatch: 64,
  groupSize: 16,
  learningRate: 2e-5,
  maxTokens: 512,
  evalEvery: 20
}

/**
 * Trains on MATH without the MATH-500 problems, and evaluates on MATH-500.
 *
 * @see tinker-cookbook `recipes/math_rl`, `env=math`
 */
export const math = Recipe.make({
  name: "math",
  description: "Competition problems of MATH without those of MATH-500, with boxed answers; evaluated on MATH-500",
  onEngine: BoxedProblems.onEngine,
  sample: BoxedProblems.sample,
  settings: Schema.Struct(BoxedProblems.fields(defaults, MathSource.hubName)),
  build: BoxedProblems.build(MathSource.load)
})

/**
 * Trains on DeepMath, and evaluates on MATH-500.
 *
 * @see tinker-cookbook `recipes/math_rl`, `env=deepmath`
 */
export const deepMath = Recipe.make({
  name: "deepmath",
  description: "Hard problems of DeepMath-103K without those of MATH-500, with boxed answers; evaluated on MATH-500",
  onEngine: BoxedProblems.onEngine,
  sample: BoxedProblems.sample,
  settings: Schema.Struct(BoxedProblems.fields(defaults, MathSets.deepMath.source.repository)),
  build: BoxedProblems.build(MathSource.deepMath)
})

/**
 * Trains on POLARIS, and evaluates on MATH-500.
 *
 * @see tinker-cookbook `recipes/math_rl`, `env=polaris`
 */
export const polaris = Recipe.make({
  name: "polaris",
  description: "Problems of POLARIS-53K without those of MATH-500, with boxed answers; evaluated on MATH-500",
  onEngine: BoxedProblems.onEngine,
  sample: BoxedProblems.sample,
  settings: Schema.Struct(BoxedProblems.fields(defaults, MathSets.polaris.source.repository)),
  build: BoxedProblems.build(MathSource.polaris)
})
