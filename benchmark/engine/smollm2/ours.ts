/** Prints how many tokens per second the engine samples. The first argument names the model file. */
import { Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Array, Clock, Effect } from "effect"
import * as OnEngine from "../../OnEngine.ts"
import * as Prompts from "./Prompts.ts"

const [, , file = ""] = process.argv

const program = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const sampling = yield* tinker.createSamplingClient({ baseModel: file })
  const sample = Effect.forEach(
    Array.range(0, Prompts.count - 1),
    (seed) =>
      sampling.sample({
        prompt: ModelInput.fromTokens([...Prompts.tokens.subarray(0, -1), 1000 + seed]),
        params: { maxTokens: Prompts.newTokens, seed }
      }),
    { concurrency: "unbounded" }
  )
  yield* sample
  const start = yield* Clock.currentTimeMillis
  const answers = yield* sample
  const seconds = ((yield* Clock.currentTimeMillis) - start) / 1000
  const sampled = answers.flatMap(({ sequences }) => sequences).reduce((sum, { tokens }) => sum + tokens.length, 0)
  process.stdout.write(String(sampled / seconds))
})

OnEngine.runMain(program, [file])
