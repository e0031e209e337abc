import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type SamplingClient, type TrainingClient } from "@effect-rl/core/backend"
import { Engine } from "@effect-rl/engine"
import type { TorchBackend } from "@effect-rl/torch"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as TestTorch from "./TestTorch.ts"

/** The error with which a backend with these options fails to start. */
const whyNot = (options: Partial<TorchBackend.Options>) =>
  Tinker.Tinker.use((tinker) => tinker.models).pipe(
    Effect.provide(TestTorch.layer(options)),
    Effect.flip,
    Effect.map((error) => error._tag === "TinkerError" ? error : assert.fail(error.message))
  )

const hasPython = spawnSync("python3", ["--version"]).status === 0

describe("a backend that cannot start", () => {
  it.live("names a Python that does not exist", () =>
    Effect.gen(function*() {
      const error = yield* whyNot({ python: "/nowhere/python" })
      assert.strictEqual(error.reason._tag, "Unavailable")
      assert.include(error.message, `there is no Python "/nowhere/python"`)
    }))

  it.live.skipIf(!hasPython)("says which package Python lacks", () =>
    Effect.gen(function*() {
      const python = fileURLToPath(new URL("./fixtures/without-torch.sh", import.meta.url))
      const error = yield* whyNot({ python })
      assert.strictEqual(error.reason._tag, "Unsupported")
      assert.include(error.message, "a Python without torch is not supported: pip install torch transformers peft")
    }))

  it.live.skipIf(!TestTorch.hasTorch)(
    `says which model cannot be found${TestTorch.where}`,
    () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const model = yield* fs.makeTempDirectoryScoped()
        const { reason } = yield* whyNot({ model })
        assert.strictEqual(reason._tag, "NotFound")
        assert.include(reason.message, model)
      }).pipe(Effect.provide(NodeServices.layer))
  )
})

const tokens = Int32Array.of(40, 61, 75, 301, 99, 47, 120, 8)

const datum = Datum.weightedTokens(ModelInput.fromTokens(tokens.subarray(0, -1)), {
  targetTokens: tokens.slice(1),
  weights: new Float32Array(7).fill(1)
})

const logprobs = (client: SamplingClient.SamplingClient) => client.computeLogprobs(ModelInput.fromTokens(tokens))

/** Ids of the processes that serve the model with this name, which is in their command line. */
const processes = (name: string) => {
  const { stdout } = spawnSync("pgrep", ["-P", String(process.pid), "-f", `"name":"${name}"`], { encoding: "utf8" })
  return stdout.split("\n").filter((line) => line !== "").map(Number)
}

const train = Effect.fnUntraced(function*(client: TrainingClient.TrainingClient) {
  const pass = yield* client.forwardBackward([datum], Loss.crossEntropy)
  const { metrics } = yield* pass.await
  const step = yield* client.optimStep({ learningRate: 1e-3 })
  return { loss: metrics["loss:sum"] ?? NaN, norm: (yield* step.await).metrics["grad_norm"] ?? NaN }
})

describe.skipIf(!TestTorch.hasTorch)(`the backend on torch${TestTorch.where}`, () => {
  it.live("computes the engine's log-probabilities within 0.001", () =>
    Effect.gen(function*() {
      const model = "effect-rl/tiny-64"
      const ours = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model })).pipe(
        Effect.flatMap(logprobs),
        Effect.scoped,
        Effect.provide(Engine.layerOptions({ workers: 0 }))
      )
      const theirs = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model })).pipe(
        Effect.flatMap(logprobs),
        Effect.scoped,
        Effect.provide(TestTorch.layer({ name: model }))
      )
      ours.subarray(1).forEach((value, t) => assert.closeTo(theirs[t + 1] ?? NaN, value, 1e-3))
    }).pipe(Effect.provide(NodeServices.layer)))

  it.live("sums micro-batches, with activations kept or recomputed", () =>
    Effect.gen(function*() {
      const found = yield* Effect.forEach(
        [{ microBatchTokens: 8 }, { microBatchTokens: 1000 }, { gradientCheckpointing: false }],
        (options) =>
          Effect.gen(function*() {
            const tinker = yield* Tinker.Tinker
            const client = yield* tinker.createLoraTrainingClient({ baseModel: TestTorch.model, seed: 1 })
            const pass = yield* client.forwardBackward([datum, datum, datum], Loss.crossEntropy)
            yield* pass.await
            const step = yield* client.optimStep({ learningRate: 1e-3 })
            return (yield* step.await).metrics["grad_norm"] ?? NaN
          }).pipe(Effect.scoped, Effect.provide(TestTorch.layer(options)))
      )
      const [first = NaN] = found
      for (const norm of found) assert.closeTo(norm / first, 1, 1e-4)
    }))

  it.live("samples from the base model, unaffected by earlier training", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const base = yield* tinker.createSamplingClient({ baseModel: TestTorch.model })
      const before = yield* logprobs(base)
      const client = yield* tinker.createLoraTrainingClient({ baseModel: TestTorch.model, seed: 1, loraRank: 4 })
      yield* train(client)
      yield* train(client)
      assert.deepStrictEqual(yield* logprobs(base), before)
      yield* train(client)
      yield* tinker.createLoraTrainingClient({ baseModel: TestTorch.model, seed: 1, loraRank: 2, trainMlp: false })
      assert.deepStrictEqual(yield* logprobs(base), before)
    }).pipe(Effect.scoped, Effect.provide(TestTorch.layer())))

  it.live("refuses a checkpoint with changed files", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const checkpoints = yield* fs.makeTempDirectoryScoped()
      yield* Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createLoraTrainingClient({ baseModel: TestTorch.model, seed: 1, loraRank: 4 })
        const one = yield* Effect.flatMap(client.saveState("one"), (pending) => pending.await)
        yield* train(client)
        const other = yield* Effect.flatMap(client.saveState("other"), (pending) => pending.await)
        const folder = (path: string) => `${checkpoints}/${path.replace("torch://", "")}/adapter_model.safetensors`
        yield* fs.copyFile(folder(other.path), folder(one.path))
        const digest = one.digest ?? ""
        const error = yield* Effect.flip(tinker.createTrainingClientFromState(one.path, { digest }))
        assert.strictEqual(error.reason._tag, "Rejected")
        assert.include(error.message, digest)
        yield* tinker.createSamplingClient({
          modelPath: other.path,
          ...(other.digest !== undefined && { digest: other.digest })
        })
      }).pipe(Effect.scoped, Effect.provide(TestTorch.layer({ checkpoints })))
    }).pipe(Effect.provide(NodeServices.layer)))

  it.live("stops sampling when its caller is interrupted, and answers the next request", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const client = yield* tinker.createSamplingClient({ baseModel: TestTorch.model })
      const prompt = ModelInput.fromTokens(tokens)
      const long = client.sample({ prompt, numSamples: 4, params: { maxTokens: 1100, stop: [] } })
      const fiber = yield* Effect.forkChild(long, { startImmediately: true })
      yield* client.sample({ prompt, params: { maxTokens: 2, stop: [] } })
      yield* Fiber.interrupt(fiber)
      const { sequences } = yield* client.sample({ prompt, params: { maxTokens: 2, stop: [] } })
      assert.deepStrictEqual(sequences.map(({ tokens }) => tokens.length), [2])
    }).pipe(Effect.scoped, Effect.provide(TestTorch.layer())))

  it.live("leaves no process behind, and clients that outlive it fail", () =>
    Effect.gen(function*() {
      const baseModel = "outlived"
      const client = yield* Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createSamplingClient({ baseModel })
        assert.strictEqual(processes(baseModel).length, 1)
        return client
      }).pipe(Effect.provide(TestTorch.layer({ name: baseModel })))
      assert.deepStrictEqual(processes(baseModel), [])
      const { reason } = yield* Effect.flip(logprobs(client))
      assert.strictEqual(reason._tag, "Unavailable")
    }).pipe(Effect.scoped))

  it.live("fails every call after the process has died", () =>
    Effect.gen(function*() {
      const baseModel = "killed"
      yield* Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const client = yield* tinker.createSamplingClient({ baseModel })
        const prompt = ModelInput.fromTokens(tokens)
        const long = client.sample({ prompt, params: { maxTokens: 1100, stop: [] } })
        const fiber = yield* Effect.forkChild(Effect.flip(long), { startImmediately: true })
        for (const id of processes(baseModel)) execFileSync("kill", ["-9", String(id)])
        const { reason } = yield* Fiber.join(fiber)
        assert.strictEqual(reason._tag, "Unavailable")
        assert.include(reason.message, "the Python process ended")
        assert.strictEqual((yield* Effect.flip(tinker.health)).reason._tag, "Unavailable")
        assert.strictEqual((yield* Effect.flip(logprobs(client))).reason._tag, "Unavailable")
      }).pipe(Effect.scoped, Effect.provide(TestTorch.layer({ name: baseModel })))
    }))
})
