// The recording replays to the recorded run's metrics. Metrics that were added later are ignored.
import { RunStore } from "@effect-rl/core"
import { HuggingFace } from "@effect-rl/files"
import { Cassette } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Schema, Stream } from "effect"
import { cassette, learnSums, metricsFile, reported } from "../src/04-cassette.ts"

const Step = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite))

layer(HuggingFace.layer.pipe(Layer.provideMerge(NodeServices.layer)))("04-cassette", (it) => {
  it.effect("replays the training with the recorded metrics", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const lines = (yield* fs.readFileString(metricsFile)).trimEnd().split("\n")
      const recorded = yield* Effect.forEach(lines, (line) => Schema.decodeEffect(Step)(line))
      const steps = yield* Stream.runCollect(learnSums(1e-3))
      assert.strictEqual(steps.length, recorded.length)
      for (const [index, step] of steps.entries()) assert.deepInclude(reported(step), { ...recorded[index] })
    }).pipe(Effect.provide([Cassette.layer(cassette), RunStore.RunStore.layerMemory])))

  it.effect("has a cassette of less than 400 kB", () =>
    Effect.gen(function*() {
      const { size } = yield* FileSystem.FileSystem.use((fs) => fs.stat(cassette))
      assert.isBelow(Number(size), 400_000)
    }))
})
