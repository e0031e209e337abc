// Reproduces the numbers of tutorial 05, with the vocabulary of Qwen3 and a scripted backend.
import { ChatModel, RunStore } from "@effect-rl/core"
import { Tokenizer } from "@effect-rl/core/renderers"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { oneGroup, train, walkThrough } from "../src/02-abstractions.ts"

const name = "Qwen/Qwen3.5-4B"

const find = (folder: string): string | undefined => {
  const candidate = join(folder, "shared/data/tokenizers/qwen3.tokenizer.json")
  if (existsSync(candidate)) return candidate
  return dirname(folder) === folder ? undefined : find(dirname(folder))
}

const vocabulary = find(import.meta.dirname)

const tokenizers = (file: string) =>
  Layer.unwrap(Effect.map(
    HuggingFaceTokenizer.fromJson(name, JSON.parse(readFileSync(file, "utf8"))),
    (tokenizer) => TestTokenizer.layer(tokenizer)
  ))

/** Of four members, the first answers 37 and the others 38, which is 15 + 23. No answer ends with a stop token. */
const backend = Layer.unwrap(Effect.map(Tokenizer.Tokenizers.use(({ load }) => load(name)), (loaded) => {
  const tokenizer = { ...loaded, vocabulary: 151_936 }
  const sample = Script.reply(
    tokenizer,
    (_, { sequence }) =>
      Script.text(tokenizer, `The answer is \\boxed{${sequence % 4 === 0 ? 37 : 38}}`, { stopReason: "length" })
  )
  return ScriptedTinker.layer({ models: { [name]: {} }, tokenizer, sample })
}))

const tutorial = (file: string) =>
  layer(tokenizers(file))("02-abstractions", (it) => {
    it.effect("reads 27 prompt tokens and rewards a correct answer without a stop with 0.9", () =>
      Effect.gen(function*() {
        const model = yield* ChatModel.resolve(name)
        assert.strictEqual(model.renderer.name, "qwen3_5")
        assert.deepStrictEqual(yield* walkThrough(model), { observationLength: 27, reward: 0.9 })
      }).pipe(Effect.provide(backend)))

    it.effect("turns rewards -0.1, 0.9, 0.9, 0.9 into advantages and datums", () =>
      Effect.gen(function*() {
        const model = yield* ChatModel.resolve(name)
        assert.deepStrictEqual(yield* oneGroup(model, "What is 15 + 23?", "38"), {
          rewards: [-0.1, 0.9, 0.9, 0.9],
          advantages: [-0.75, 0.25, 0.25, 0.25],
          datums: 4,
          keys: ["targetTokens", "logprobs", "advantages", "mask"]
        })
      }).pipe(Effect.provide(backend)))

    it.effect("trains at the learning rate that is calibrated for the model", () =>
      Effect.gen(function*() {
        const model = yield* ChatModel.resolve(name)
        assert.strictEqual((yield* train(model)).toExponential(2), "4.91e-4")
      }).pipe(Effect.provide([backend, RunStore.RunStore.layerMemory])))
  })

if (vocabulary === undefined) {
  describe.skip("02-abstractions (skipped: shared/data/tokenizers absent)", () => {
    it("needs the Qwen3 vocabulary", () => {})
  })
} else tutorial(vocabulary)
