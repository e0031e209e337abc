import { Contract, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Cassette } from "@effect-rl/tinker"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"

const cases = Contract.contract({
  baseModel: Script.defaultModel,
  // The scripted model has no end of sequence.
  tokenizer: { ...TestTokenizer.characters, eosTokenId: undefined }
})

const cassette = Effect.map(
  FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "effect-rl-cassette-" })),
  (folder) => `${folder}/contract.jsonl`
)

describe("a recording satisfies the same contract as its backend", () => {
  layer(NodeServices.layer)((it) => {
    for (const { check, name } of cases) {
      it.effect(name, () =>
        Effect.gen(function*() {
          const file = yield* cassette
          yield* check.pipe(Effect.provide(Cassette.layerRecord(file)), Effect.provide(ScriptedTinker.layer()))
          yield* check.pipe(Effect.provide(Cassette.layer(file)))
        }))
    }
  })
})
