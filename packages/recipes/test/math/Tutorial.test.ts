/** The prompt of tinker-cookbook's tutorial 05, which prints the prompt's length and stop token. */
import { ModelInput } from "@effect-rl/core/backend"
import * as Qwen35 from "@effect-rl/core/renderers/qwen/Qwen35"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { MathEnv } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The fixture that `packages/files/scripts/tokenizers/qwen3_5.py` writes. */
const file = join(process.env["EFFECT_RL_TOKENIZERS"] ?? "EFFECT_RL_TOKENIZERS", "qwen3_5", "tokenizer.json")
const isThere = existsSync(file)

describe.runIf(isThere)(`tutorial 05${isThere ? "" : ` (skipped: no ${file})`}`, () => {
  it.effect("has a prompt of 27 tokens and the stop token 248046", () =>
    Effect.gen(function*() {
      const tokenizer = yield* HuggingFaceTokenizer.fromJson("Qwen/Qwen3.5-4B", JSON.parse(readFileSync(file, "utf8")))
      const model = { renderer: yield* Qwen35.qwen35(tokenizer) }
      const prompt = yield* MathEnv.make({ model, problem: "What is 2 + 3?", answer: "5" }).initialObservation
      assert.strictEqual(prompt._tag, "Prompt")
      if (prompt._tag !== "Prompt") return
      const tokens = yield* ModelInput.toTokens(prompt.input)
      assert.strictEqual(tokens.length, 27)
      // The tokens of the question, as encoded by the tokenizer in the wheel.
      // dprint-ignore
      const question = [3710, 369, 220, 17, 478, 220, 18, 30, 9357, 678, 4087, 303, 1088, 76367, 6061, 3443, 13]
      assert.deepStrictEqual([...tokens.subarray(3, 20)], question)
      assert.deepStrictEqual(prompt.stop, [248046])
    }))
})
