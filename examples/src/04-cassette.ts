// A cassette: five iterations of learning to add, recorded once through the Tinker API. This program replays the training without a server,
// key or GPU.
import { ChatModel, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Preset } from "@effect-rl/engine"
import { HuggingFace } from "@effect-rl/files"
import { Sums } from "@effect-rl/recipes"
import { Cassette } from "@effect-rl/tinker"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Stream } from "effect"
import { fileURLToPath } from "node:url"

const name = "effect-rl/tiny-128"

export const cassette = fileURLToPath(new URL("../cassettes/sums.jsonl", import.meta.url))

/** The file with the metrics that the recorded run reported. */
export const metricsFile = fileURLToPath(new URL("../cassettes/sums.metrics.jsonl", import.meta.url))

/** The updates of a run of five iterations. A Layer decides whether the run is recorded, replayed or trained on a live backend. */
export const learnSums = (learningRate: number) =>
  Effect.map(ChatModel.resolve(name, { tokenizer: fileURLToPath(Preset.folders.get(name) ?? "") }), (model) => {
    const dataset = Sums.dataset(Sums.boxed, { model, batches: 5, groupsPerBatch: 8, groupSize: 4 })
    return Rl.run({ model, dataset, sampling: { maxTokens: 40 }, update: { learningRate } })
  }).pipe(
    Stream.unwrap,
    Stream.filter(RunRecord.guards.Updated)
  )

/** The number of an iteration and its metrics, without those under `time/`. */
export const reported = ({ iteration, metrics }: RunRecord.Updated) => ({
  iteration,
  ...Object.fromEntries(Object.entries(metrics).filter(([name]) => !name.startsWith("time/")))
})

const iterations = learnSums(1e-3).pipe(
  Stream.runForEach(({ iteration, metrics, reward }) =>
    Console.log(`iteration ${iteration + 1}: reward ${reward?.mean.toFixed(3)}, ${metrics["optim/datums"]} datums`)
  )
)

/** Another learning rate was not recorded, so the cassette fails instead of inventing an answer. */
const missed = learnSums(2e-3).pipe(
  Stream.runDrain,
  Effect.catchReason(
    "TinkerError",
    "Unrecorded",
    ({ differences }) =>
      Effect.forEach(
        differences,
        ({ asked, field, recorded }) => Console.log(`not recorded: ${field} is ${asked}, recorded ${recorded}`)
      )
  )
)

if (import.meta.main) {
  const play = Effect.provide([Cassette.layer(cassette), RunStore.RunStore.layerMemory])
  iterations.pipe(
    play,
    Effect.andThen(play(missed)),
    Effect.provide(HuggingFace.layer),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain
  )
}
