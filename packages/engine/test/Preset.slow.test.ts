import * as ModelFolder from "@effect-rl/engine/checkpoint/ModelFolder"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Preset from "@effect-rl/engine/Preset"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Path } from "effect"
import * as Evaluation from "../scripts/pretrain/Evaluation.ts"

const load = Effect.fnUntraced(function*(url: URL) {
  const path = yield* Path.Path
  const folder = yield* path.fromFileUrl(url)
  const opened = yield* ModelFolder.open(folder)
  const memory = Memory.make()
  const reserver = Memory.reserver(memory)
  const compute = {
    kernels: Kernels.instantiate(Kernels.compile(), memory),
    memory,
    config: opened.config,
    weights: Weights.allocate(memory, reserver, opened.config, opened.storageOf),
    arena: Memory.arena(reserver.reserve(64 << 20))
  }
  yield* ModelFolder.load(opened, compute)
  return { compute, tokenizer: yield* HuggingFaceTokenizer.fromFolder(folder) }
})

describe("Preset", () => {
  layer(NodeServices.layer)((it) => {
    it.effect.each([...Preset.folders])(
      "%s has a weight for each token, and room for a conversation",
      ([, url]) =>
        Effect.gen(function*() {
          const { compute, tokenizer } = yield* load(url)
          assert.strictEqual(tokenizer.tokenBytes?.offsets.length, compute.config.vocabularySize + 1)
          assert.isAtLeast(compute.config.contextLength, 1152)
        })
    )

    for (const name of ["effect-rl/tiny-64", "effect-rl/tiny-128"]) {
      it.effect(
        `${name} sometimes adds held-out numbers, and mostly where it works step by step`,
        () =>
          Effect.gen(function*() {
            const url = yield* Effect.fromNullishOr(Preset.folders.get(name))
            const { compute, tokenizer } = yield* load(url)
            const report = Evaluation.run(compute, tokenizer, 1)
            assert.isAbove(report.correct, 0.2)
            assert.isBelow(report.correct, 0.5)
            assert.isAbove(report.workedCorrect, 0.85)
            assert.isBelow(report.worked, 0.5)
          }),
        60_000
      )
    }
  })
})
