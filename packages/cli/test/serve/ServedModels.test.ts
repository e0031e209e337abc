import * as ModelConfigFile from "@effect-rl/engine/checkpoint/ModelConfigFile"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem } from "effect"
import * as CommandLine from "../CommandLine.ts"

/** A model with 2.3 GiB of float32 weights. */
const config: ModelConfig = {
  family: "llama",
  vocabularySize: 32_000,
  hiddenSize: 4096,
  feedForwardSize: 8192,
  layers: 2,
  heads: 32,
  keyHeads: 8,
  headSize: 128,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength: 2048,
  tiedEmbeddings: false
}

/** A model folder whose files have the right sizes but no content. */
const folder = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  const fields = { ...ModelConfigFile.toFields(config), tie_word_embeddings: false }
  yield* fs.writeFileString(`${folder}/config.json`, JSON.stringify(fields))
  const tensors = Weights.tensors(config).map((tensor) => ({ ...tensor, dtype: "F32" as const }))
  const { bytes } = Safetensors.header(tensors)
  const values = tensors.reduce((sum, { shape }) => sum + shape.reduce((size: number, axis) => size * axis, 1), 0)
  yield* fs.writeFile(`${folder}/model.safetensors`, bytes)
  yield* fs.truncate(`${folder}/model.safetensors`, bytes.length + 4 * values)
  return folder
})

describe("effect-rl serve", () => {
  it.live("refuses, before it listens, models that do not fit the memory together", () =>
    Effect.gen(function*() {
      const place = yield* folder
      const { errors, exit } = yield* CommandLine.run(
        "serve",
        "--port",
        "0",
        "--checkpoints",
        place,
        "--model",
        `actor=${place}`,
        "--model",
        `judge=${place}`
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.match(
        errors.join(),
        /--model actor does not fit .* beside 1 more: its weights take 2\.\d\d GiB and its share is 2\.\d\d GiB, with room for/
      )
    }).pipe(Effect.provide(NodeServices.layer)))
})
