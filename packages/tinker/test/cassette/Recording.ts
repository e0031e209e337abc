/** Programs to record on a backend, and their recordings. */
import { Loss, Tinker, TinkerError } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Cassette } from "@effect-rl/tinker"
import { assert } from "@effect/vitest"
import { Effect, FileSystem, type Layer, type Scope } from "effect"

export const baseModel = Script.defaultModel

export const temporary = Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "effect-rl-cassette-" })),
  (folder) => `${folder}/recordings/one.jsonl`
)

export const record = <A, E>(
  file: string,
  program: Effect.Effect<A, E, Tinker.Tinker | Scope.Scope>,
  backend: Layer.Layer<Tinker.Tinker> = ScriptedTinker.layer()
) => Effect.scoped(program).pipe(Effect.provide(Cassette.layerRecord(file)), Effect.provide(backend))

export const replay = <A, E>(file: string, program: Effect.Effect<A, E, Tinker.Tinker | Scope.Scope>) =>
  Effect.scoped(program).pipe(Effect.provide(Cassette.layer(file)))

export const sampler = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel }))

export const trainer = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createLoraTrainingClient({ baseModel, seed: 1, loraRank: 8 })
)

export const prompt = ModelInput.fromTokens([3, 1, 4, 1, 5])

export const ask = (seed?: number) => ({ prompt, params: { maxTokens: 3, ...(seed === undefined ? {} : { seed }) } })

export const datum = (weight = 1) =>
  Datum.weightedTokens(prompt, {
    targetTokens: Int32Array.of(1, 4, 1, 5, 9),
    weights: Float32Array.of(0, 0, weight, weight, weight)
  })

export const run = <A, E1, E2, R>(submit: Effect.Effect<{ readonly await: Effect.Effect<A, E1> }, E2, R>) =>
  Effect.flatMap(submit, (pending) => pending.await)

/** One training step, with samples before and after it, and a checkpoint. */
export const lesson = ({ learningRate = 1e-2, seed = 7, weight = 1 } = {}) =>
  Effect.gen(function*() {
    const client = yield* trainer
    const untrained = yield* client.saveWeightsAndGetSamplingClient
    const before = yield* untrained.sample(ask(seed))
    const pass = yield* client.forwardBackward([datum(), datum(weight)], Loss.crossEntropy)
    const step = yield* client.optimStep({ learningRate })
    const { metrics } = yield* pass.await
    const trained = yield* client.saveWeightsAndGetSamplingClient
    const after = yield* trained.sample(ask(seed))
    const { path } = yield* run(client.saveState("lesson"))
    return { before, metrics, step: yield* step.await, after, path }
  })

export const lines = (file: string) =>
  FileSystem.FileSystem.use((fs) => Effect.map(fs.readFileString(file), (text) => text.trimEnd().split("\n")))

export const write = (file: string, lines: ReadonlyArray<string>, end = "\n") =>
  FileSystem.FileSystem.use((fs) => fs.writeFileString(file, lines.join("\n") + end))

export const expectUnrecorded = (error: unknown) => {
  assert.instanceOf(error, TinkerError.TinkerError)
  assert.instanceOf(error.reason, TinkerError.Unrecorded)
  return error.reason
}
