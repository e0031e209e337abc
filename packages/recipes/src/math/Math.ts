/** Competition problems of MATH, evaluated on MATH-500. */
import * as Schema from "effect/Schema"
import * as Recipe from "../Recipe.ts"
import * as BoxedProblems from "./BoxedProblems.ts"
import * as MathSource from "./MathSource.ts"

const settings = Schema.Struct(BoxedProblems.fields({
  model: "Qwen/Qwen3-8B",
  iterations: 188,
  groupsPerBatch: 64,
  groupSize: 16,
  learningRate: 2e-5,
  maxTokens: 512,
  evalEvery: 20
}, MathSource.hubName))

/** @see tinker-cookbook `recipes/math_rl`, `env=math` */
export const math = Recipe.make({
  name: "math",
  description: "Competition problems of MATH without those of MATH-500, answers in a box; evaluated on MATH-500",
  onEngine: BoxedProblems.onEngine,
  sample: BoxedProblems.sample,
  settings,
  build: BoxedProblems.build(MathSource.load)
})
