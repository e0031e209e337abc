/** What the embedded engine computes with the models of `twin.py`: log-probabilities, ten updates, and the adapter's files. */
import { Datum, Loss, ModelInput, Tinker } from "@effect-rl/core"
import { Engine, Merge } from "@effect-rl/engine"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Path, Schema } from "effect"

const Plan = Schema.Struct({
  entries: Schema.Array(Schema.Struct({ name: Schema.String, model: Schema.String })),
  tokens: Schema.Array(Schema.Array(Schema.Int)),
  steps: Schema.Int,
  learningRate: Schema.Finite
})

const [folder = ""] = process.argv.slice(2)

const datum = (tokens: ReadonlyArray<number>) =>
  Datum.weightedTokens(ModelInput.fromTokens(tokens.slice(0, -1)), {
    targetTokens: Int32Array.from(tokens.slice(1)),
    weights: new Float32Array(tokens.length - 1).fill(1)
  })

const run = Effect.fnUntraced(function*(plan: typeof Plan.Type, { model, name }: typeof Plan.Type["entries"][number]) {
  const path = yield* Path.Path
  const checkpoints = path.join(folder, `${name}-checkpoints`)
  const trained = Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const base = yield* tinker.createSamplingClient({ baseModel: model })
    const client = yield* tinker.createLoraTrainingClient({ baseModel: model, loraRank: 4, seed: 1 })
    const save = (name: string) => Effect.flatMap(client.saveState(name), (pending) => pending.await)
    const start = yield* save("start")
    const [first, ...rest] = plan.tokens.map(datum)
    if (first === undefined) return yield* Effect.die("the plan has no tokens")
    for (let step = 0; step < plan.steps; step++) {
      yield* client.forwardBackward([first, ...rest], Loss.crossEntropy)
      yield* Effect.flatMap(client.optimStep({ learningRate: plan.learningRate }), (pending) => pending.await)
    }
    const end = yield* save("end")
    const after = yield* client.saveWeightsAndGetSamplingClient
    const score = (sampler: typeof after) =>
      Effect.forEach(
        plan.tokens,
        (tokens) =>
          Effect.map(sampler.computeLogprobs(ModelInput.fromTokens(tokens)), (values) => Array.from(values.subarray(1)))
      )
    return { base: yield* score(base), trained: yield* score(after), start: start.path, end: end.path }
  })
  const found = yield* Effect.scoped(trained).pipe(
    Effect.provide(Engine.layerOptions({ models: [model], checkpoints, workers: 1 }))
  )
  const folderOf = (uri: string) => path.join(checkpoints, uri.slice("engine://".length))
  const merged = path.join(folder, `${name}-merged`)
  yield* Merge.write({ model, adapter: folderOf(found.end), target: merged })
  return { ...found, name, start: folderOf(found.start), end: folderOf(found.end), merged }
})

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* fs.readFileString(path.join(folder, "plan.json"))
  const plan = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Plan))(text)
  const results = yield* Effect.forEach(plan.entries, (entry) => run(plan, entry))
  yield* fs.writeFileString(path.join(folder, "results.json"), JSON.stringify(results))
})

program.pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
