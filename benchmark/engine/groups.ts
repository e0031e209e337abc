/** Samples and credits the first batch of `npm start`, and writes it as JSON. The first argument names the file, the second the model. */
import { Advantage, ChatModel, Credit, Policy, Rollout, Tinker } from "@effect-rl/core"
import { ModelInput, Weights } from "@effect-rl/core/backend"
import { Sums } from "@effect-rl/recipes"
import { Effect, FileSystem, Stream } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Workload from "./Workload.ts"

const [, , path = "", baseModel = Workload.modelName] = process.argv

const program = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const fs = yield* FileSystem.FileSystem
  const model = yield* ChatModel.resolve(baseModel)
  const sampling = yield* tinker.createSamplingClient({ baseModel })
  const dataset = Sums.dataset(Sums.boxed, {
    model,
    batches: 1,
    groupsPerBatch: Workload.groups,
    groupSize: Workload.groupSize
  })
  const policy = Policy.fromSamplingClient(sampling, { maxTokens: 40, seed: 0 })
  const results = yield* Stream.runCollect(Rollout.stream(yield* dataset.batch(0, 0), policy))
  const credited = yield* Credit.groupRelative(Advantage.centered).assign(results, null, Weights.absent)
  const rows = yield* Effect.forEach(
    credited.groups.flatMap(({ data }) => data),
    ({ inputs, modelInput }) =>
      Effect.map(ModelInput.toTokens(modelInput), (tokens): Workload.Row => ({
        tokens: [...tokens],
        targets: [...inputs.targetTokens],
        logprobs: [...inputs.logprobs].map((logprob) => Number.isNaN(logprob) ? 0 : logprob),
        advantages: [...inputs.advantages]
      }))
  )
  yield* fs.writeFileString(path, JSON.stringify(rows))
})

OnEngine.runMain(program)
