/** A short run on the engine that sends a signal to its own process at a given backend call. */
import { ChatModel, Tinker } from "@effect-rl/core"
import type { SamplingClient, TrainingClient } from "@effect-rl/core/backend"
import { Engine } from "@effect-rl/engine"
import { RunDirectory } from "@effect-rl/files"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Stream } from "effect"
import { appendFileSync } from "node:fs"
import { join } from "node:path"
import * as Programs from "./Programs.ts"

const [name = "", folder = "", saveEvery = "1", operation = "none", call = "0", signal = "SIGKILL"] = process.argv
  .slice(2)

let calls = 0

/** Kills the process at the chosen call: before it is submitted, or after its result has arrived. */
const deadly = (name: string) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    if (name === operation && calls++ === Number(call)) process.kill(process.pid, signal)
    return effect
  })

/** Counts the requested sequences, as the size in bytes of a file. */
const counted = (sequences = 1) => Effect.sync(() => appendFileSync(join(folder, "sampled"), ".".repeat(sequences)))

const deadlySampler = (sampler: SamplingClient.SamplingClient): SamplingClient.SamplingClient => ({
  ...sampler,
  sample: (request) => deadly("sample")(Effect.andThen(counted(request.numSamples), sampler.sample(request))),
  computeLogprobs: (prompt) => deadly("computeLogprobs")(sampler.computeLogprobs(prompt))
})

const deadlyClient = (client: TrainingClient.TrainingClient): TrainingClient.TrainingClient => ({
  ...client,
  forward: (data, loss) => deadly("forward")(client.forward(data, loss)),
  forwardBackward: (data, loss, options) => deadly("forwardBackward")(client.forwardBackward(data, loss, options)),
  forwardBackwardCustom: (data, loss) => deadly("forwardBackwardCustom")(client.forwardBackwardCustom(data, loss)),
  optimStep: (adam) =>
    deadly("optimStep")(client.optimStep(adam)).pipe(
      Effect.map((pending) => ({ await: Effect.tap(pending.await, () => deadly("stepped")(Effect.void)) }))
    ),
  saveState: (name, options) =>
    deadly("saveState")(client.saveState(name, options)).pipe(
      Effect.map((pending) => ({ await: Effect.tap(pending.await, () => deadly("saved")(Effect.void)) }))
    ),
  saveWeightsForSampler: (name, options) => deadly("saveWeights")(client.saveWeightsForSampler(name, options)),
  saveWeightsAndGetSamplingClient: Effect.map(client.saveWeightsAndGetSamplingClient, deadlySampler)
})

const deadlyTinker = Layer.effect(
  Tinker.Tinker,
  Tinker.Tinker.use((tinker) =>
    Effect.succeed(Tinker.Tinker.of({
      ...tinker,
      createLoraTrainingClient: (options) => Effect.map(tinker.createLoraTrainingClient(options), deadlyClient),
      createTrainingClientFromState: (path, options) =>
        Effect.map(tinker.createTrainingClientFromState(path, options), deadlyClient),
      createSamplingClient: (from) => Effect.map(tinker.createSamplingClient(from), deadlySampler)
    }))
  )
)

const engine = Engine.layerOptions({ checkpoints: join(folder, "checkpoints"), workers: 1 })

const run = Stream.unwrap(Effect.map(
  ChatModel.resolve("effect-rl/tiny-64"),
  (model) =>
    Programs.named(name)?.run({ model, saveEvery: Number(saveEvery) }) ?? Stream.die(`there is no program "${name}"`)
))

run.pipe(
  Stream.runDrain,
  Effect.provide(Layer.merge(Layer.provideMerge(deadlyTinker, engine), RunDirectory.layer(folder))),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
