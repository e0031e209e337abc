/** Grade-school word problems, as in the cookbook's `rl_basic`. */
import * as Schema from "effect/Schema"
import * as BoxedProblems from "../math/BoxedProblems.ts"
import * as Recipe from "../Recipe.ts"
import * as Gsm8kSource from "./Gsm8kSource.ts"

export const Settings = Schema.Struct(BoxedProblems.fields({
  model: "Qwen/Qwen3.5-9B-Base",
  iterations: 58,
  groupsPerBatch: 128,
  groupSize: 16,
  learningRate: 4e-5,
  maxTokens: 256,
  evalEvery: 20
}, Gsm8kSource.hubName))

/**
 * Trains on GSM8K. Rows are shuffled by effect-rl's own generator, so their order differs from the cookbook's.
 *
 * @example
 * const task = Gsm8k.gsm8k.configure({ data: "data/gsm8k" }).pipe(Effect.flatMap(({ build }) => build(model)))
 *
 * @see tinker-cookbook `rl_basic`
 */
export const gsm8k = Recipe.make({
  name: "gsm8k",
  description: "Grade-school word problems with boxed answers; evaluated on the test problems",
  onEngine: BoxedProblems.onEngine,
  sample: BoxedProblems.sample,
  settings: Settings,
  build: BoxedProblems.build(Gsm8kSource.load)
})
