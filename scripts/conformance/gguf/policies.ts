/**
 * Trains an adapter on each of several models, exports them as GGUF and as folders, and writes the engine's log-probabilities beside them;
 * then the same with adapters that were damaged as a faulty exporter would.
 */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Engine, GgufExport, Merge } from "@effect-rl/engine"
import * as ModelConfigFile from "@effect-rl/engine/checkpoint/ModelConfigFile"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Effect, FileSystem, Path } from "effect"
import { fileURLToPath } from "node:url"
import * as Faults from "./Faults.ts"

const [folder = "", smollm2] = process.argv.slice(2)

const presets = fileURLToPath(new URL("../../../packages/engine/presets/", import.meta.url))

/** Uniform numbers in [0, 1) that depend only on the seed. */
const uniform = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const qwen3: ModelConfig = {
  family: "qwen3",
  vocabularySize: 512,
  hiddenSize: 256,
  feedForwardSize: 512,
  layers: 4,
  heads: 8,
  keyHeads: 2,
  headSize: 64,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 1_000_000,
  contextLength: 512,
  tiedEmbeddings: false
}

const llama: ModelConfig = { ...qwen3, family: "llama", headSize: 32, ropeTheta: 10_000, tiedEmbeddings: true }

/** Writes a model folder with random weights and a preset's tokenizer. */
const random = Effect.fnUntraced(function*(name: string, config: ModelConfig) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const place = path.join(folder, name)
  yield* fs.makeDirectory(place)
  const next = uniform(7)
  const tensors = Weights.tensors(config).map(({ name, shape }) => {
    const [rows = 1, width] = shape
    const draw = () => width === undefined ? 0.6 + 0.8 * next() : (2 * next() - 1) * Math.sqrt(3 / width)
    const values = Float32Array.from({ length: rows * (width ?? 1) }, draw)
    return { name, dtype: "F32" as const, shape, data: new Uint8Array(values.buffer) }
  })
  yield* fs.writeFile(path.join(place, "model.safetensors"), Safetensors.encode(tensors, { format: "pt" }))
  const fields = { ...ModelConfigFile.toFields(config), tie_word_embeddings: config.tiedEmbeddings }
  yield* fs.writeFileString(path.join(place, "config.json"), JSON.stringify(fields))
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) {
    yield* fs.copyFile(path.join(presets, "tiny-64", file), path.join(place, file))
  }
  return place
})

const sequences = (tokens: number) => {
  const next = uniform(3)
  return Array.makeBy(3, () => Array.makeBy(48, () => Math.floor(next() * tokens)))
}

const datum = (tokens: ReadonlyArray<number>) =>
  Datum.weightedTokens(ModelInput.fromTokens(tokens.slice(0, -1)), {
    targetTokens: Int32Array.from(tokens.slice(1)),
    weights: new Float32Array(tokens.length - 1).fill(1)
  })

/** Log-probabilities with and without the adapter, and the adapter's folder. */
const trained = Effect.fnUntraced(
  function*(name: string, model: string, all: Array.NonEmptyReadonlyArray<ReadonlyArray<number>>) {
    const path = yield* Path.Path
    const checkpoints = path.join(folder, `${name}-checkpoints`)
    const program = Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const client = yield* tinker.createLoraTrainingClient({ baseModel: model, loraRank: 8, seed: 1 })
      const scores = Effect.fnUntraced(function*() {
        const sampler = yield* client.saveWeightsAndGetSamplingClient
        return yield* Effect.forEach(all, (tokens) =>
          Effect.map(
            sampler.computeLogprobs(ModelInput.fromTokens(tokens)),
            (values) => Array.fromIterable(values.subarray(1))
          ))
      })
      const before = yield* scores()
      for (let step = 0; step < 10; step++) {
        yield* client.forwardBackward(Array.map(all, datum), Loss.crossEntropy)
        yield* Effect.flatMap(client.optimStep({ learningRate: 1e-3 }), (pending) => pending.await)
      }
      const { path: saved } = yield* Effect.flatMap(client.saveState("end"), (pending) => pending.await)
      return { adapter: path.join(checkpoints, saved.slice("engine://".length)), before, after: yield* scores() }
    })
    return yield* Effect.scoped(program).pipe(
      Effect.provide(Engine.layerOptions({ checkpoints, models: [model], workers: 0 }))
    )
  }
)

const exported = Effect.fnUntraced(function*(name: string, model: string, tokens = 500) {
  const path = yield* Path.Path
  const all = sequences(tokens)
  const { adapter, after, before } = yield* trained(name, model, all)
  const file = (kind: string) => path.join(folder, `${name}-${kind}`)
  yield* GgufExport.merged({ model, adapter, target: file("merged.gguf") })
  yield* GgufExport.adapter({ model, adapter, target: file("policy") })
  const faults = yield* Effect.forEach(
    Faults.all,
    Effect.fnUntraced(function*({ damage, name }, index) {
      const damaged = file(`fault-${index}`)
      yield* Faults.write(adapter, damaged, damage)
      yield* GgufExport.merged({ model, adapter: damaged, target: `${damaged}.gguf` })
      return { name, file: `${damaged}.gguf`, adapter: damaged }
    })
  )
  const zeroed = faults.find(({ name }) => name === Faults.none)?.adapter ?? adapter
  yield* Merge.write({ model, adapter: zeroed, target: file("base-folder") })
  yield* Merge.write({ model, adapter, target: file("merged-folder") })
  return {
    name,
    tokens: all,
    before,
    after,
    merged: file("merged.gguf"),
    policy: file("policy"),
    adapter,
    baseFolder: file("base-folder"),
    mergedFolder: file("merged-folder"),
    faults
  }
})

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found = [
    yield* exported("tiny-64", path.join(presets, "tiny-64")),
    yield* exported("tiny-128", path.join(presets, "tiny-128")),
    yield* exported("random-qwen3", yield* random("random-qwen3", qwen3)),
    yield* exported("random-llama", yield* random("random-llama", llama)),
    ...smollm2 === undefined ? [] : [yield* exported("smollm2", smollm2, 40_000)]
  ]
  yield* fs.writeFileString(path.join(folder, "policies.json"), JSON.stringify(found))
})

program.pipe(Effect.scoped, Effect.provide(NodeServices.layer), NodeRuntime.runMain)
