// Measures the PyTorch backend's throughput: node --conditions=@effect-rl/source packages/torch/scripts/main.ts FOLDER DEVICE [SCALE
// [PARTS]]. Weights may be random (random_model.py), since they do not affect the timings. SCALE divides all lengths, for a trial on a CPU.
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import { Seed } from "@effect-rl/core/environments"
import { TorchBackend } from "@effect-rl/torch"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, FileSystem, Layer } from "effect"
import { spawnSync } from "node:child_process"

const [folder = "", device = "cuda", scale = "1", asked = "sampling,passes,checkpoint,step"] = process.argv.slice(2)
const parts = asked.split(",")
const scaled = (count: number) => Math.max(2, Math.round(count / Number(scale)))

const options = { model: folder, name: "model", python: process.env["EFFECT_RL_PYTHON"] ?? "python3", device } as const

/** Token ids that exist in all tested models. */
const tokensOf = (length: number, seed: number) => {
  const next = Seed.uniform(seed)
  return Int32Array.from({ length }, () => 10 + Math.floor(next() * 400))
}

const memory = () => {
  const { stdout } = spawnSync("nvidia-smi", ["--query-gpu=memory.used", "--format=csv,noheader,nounits"])
  return stdout === null ? undefined : Number(String(stdout).trim())
}

const started = performance.now()

const report = (what: string, values: Readonly<Record<string, number>>) =>
  Console.log(JSON.stringify({ at: Math.round(performance.now() - started) / 1000, what, ...values, MiB: memory() }))

/** Runs an effect and reports its seconds and figures derived from them. */
const timed = <A, E, R>(
  what: string,
  effect: Effect.Effect<A, E, R>,
  more: (value: A, seconds: number) => Readonly<Record<string, number>> = () => ({})
) =>
  Effect.gen(function*() {
    const begin = performance.now()
    const value = yield* effect
    const seconds = (performance.now() - begin) / 1000
    yield* report(what, { seconds, ...more(value, seconds) })
    return value
  })

const run = <A, E, R, F, Q>(submit: Effect.Effect<{ readonly await: Effect.Effect<A, F, Q> }, E, R>) =>
  Effect.flatMap(submit, (pending) => pending.await)

const tokensIn = (sequences: ReadonlyArray<Sampling.SampledTokens>) =>
  sequences.reduce((sum, { tokens }) => sum + tokens.length, 0)

/** Position t of prompt ++ tokens[:-1] predicts token t + 1. The prompt's positions have advantage 0. */
const toDatum = (prompt: Int32Array, { logprobs, tokens }: Sampling.SampledTokens, advantage: number) => {
  const all = Int32Array.from([...prompt, ...tokens])
  const padded = (values: ArrayLike<number>) => {
    const wide = new Float32Array(all.length - 1)
    wide.set(values, prompt.length - 1)
    return wide
  }
  return Datum.policyTokens(ModelInput.fromTokens(all.subarray(0, -1)), {
    targetTokens: all.slice(1),
    logprobs: padded(logprobs),
    advantages: padded(logprobs.map(() => advantage)),
    mask: padded(logprobs.map(() => 1))
  })
}

const textDatum = (length: number, seed: number) => {
  const tokens = tokensOf(length + 1, seed)
  return Datum.weightedTokens(ModelInput.fromTokens(tokens.subarray(0, -1)), {
    targetTokens: tokens.slice(1),
    weights: new Float32Array(length).fill(1)
  })
}

/** Samples 8 groups of 8 members with 512 tokens each, trains on them and applies an optimizer step. */
const grpoStep = (training: TrainingClient.TrainingClient) =>
  Effect.scoped(Effect.gen(function*() {
    const sampler = yield* timed("snapshot", training.saveWeightsAndGetSamplingClient)
    const groups = Array.makeBy(8, (index) => tokensOf(scaled(256), index))
    const params = { maxTokens: scaled(512), stop: [] }
    const sampled = yield* timed(
      "step: sampling of 8 groups of 8",
      Effect.forEach(
        groups,
        (prompt) =>
          Effect.map(
            sampler.sample({ prompt: ModelInput.fromTokens(prompt), numSamples: 8, params }),
            ({ sequences }) => sequences.map((sequence, member) => toDatum(prompt, sequence, member % 2 === 0 ? 1 : -1))
          ),
        { concurrency: "unbounded" }
      ),
      (_, seconds) => ({ tokensPerSecond: 64 * params.maxTokens / seconds })
    )
    const [first, ...rest] = sampled.flat()
    if (first === undefined) return
    const positions = sampled.flat().reduce((sum, { modelInput }) => sum + modelInput.length, 0)
    yield* timed(
      "step: forward and backward",
      run(training.forwardBackward([first, ...rest], Loss.importanceSampling)),
      (_, seconds) => ({ tokensPerSecond: positions / seconds })
    )
    yield* timed("step: optimizer", run(training.optimStep({ learningRate: 1e-4 })))
  }))

type Training = TrainingClient.TrainingClient

const sampling = Effect.fnUntraced(function*(training: Training) {
  const tinker = yield* Tinker.Tinker
  const base = yield* tinker.createSamplingClient({ baseModel: options.name })
  const adapted = yield* training.saveWeightsAndGetSamplingClient
  const prompt = ModelInput.fromTokens(tokensOf(scaled(128), 1))
  const sample = (client: typeof base, numSamples: number) =>
    client.sample({ prompt, numSamples, params: { maxTokens: scaled(128), stop: [] } })
  yield* adapted.sample({ prompt, numSamples: 4, params: { maxTokens: 8, stop: [] } })
  for (
    const [name, client, samples] of [["adapter", adapted, 64], ["adapter", adapted, 256], [
      "base model",
      base,
      64
    ]] as const
  ) {
    yield* timed(
      `sampling, ${samples} at once, ${name}`,
      sample(client, samples),
      ({ sequences }, seconds) => ({ tokensPerSecond: tokensIn(sequences) / seconds })
    )
  }
})

const passes = Effect.fnUntraced(function*(training: Training) {
  const pass = (count: number) => {
    const data = Array.makeBy(count, (index) => textDatum(scaled(4096), index))
    return run(training.forwardBackward(data, Loss.crossEntropy))
  }
  yield* pass(1)
  for (const count of [1, 4, 8]) {
    yield* timed(
      `forward and backward, ${count} of 4096 tokens`,
      pass(count),
      (_, seconds) => ({ tokensPerSecond: count * scaled(4096) / seconds })
    )
  }
  yield* timed("optimizer", run(training.optimStep({ learningRate: 1e-4 })))
})

const checkpoint = Effect.fnUntraced(function*(training: Training) {
  const { path } = yield* timed("saving weights and optimizer", run(training.saveState("benchmark")))
  yield* timed("loading weights and optimizer", run(training.loadState(path, { optimizer: true })))
})

const measure = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  yield* report("loaded", {})
  const training = yield* tinker.createLoraTrainingClient({ baseModel: options.name, loraRank: 32, seed: 1 })
  yield* report("adapter of rank 32", { adapterMiB: (training.info.memoryBytes ?? 0) / 2 ** 20 })
  if (parts.includes("sampling")) yield* sampling(training)
  if (parts.includes("passes")) yield* passes(training)
  if (parts.includes("checkpoint")) yield* checkpoint(training)
  if (parts.includes("step")) yield* timed("step of GRPO", grpoStep(training))
})

const backend = Layer.unwrap(Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()),
  (checkpoints) => TorchBackend.layer({ ...options, checkpoints })
))

NodeRuntime.runMain(
  Effect.scoped(measure).pipe(Effect.provide(backend), Effect.scoped, Effect.provide(NodeServices.layer))
)
