import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { RendererLaws, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { phi4Mini } from "../src/16-own-renderer.ts"

const tokenizer = TestTokenizer.make({
  name: "phi",
  specialTokens: ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"],
  pieces: TestTokenizer.characterPieces
})

describe("16-own-renderer satisfies the renderer laws", () => {
  for (const { check, name } of RendererLaws.rendererLaws(Effect.runSync(phi4Mini(tokenizer)), tokenizer)) {
    it.effect(name, () => check)
  }
})

describe("16-own-renderer", () => {
  it.effect("writes the marks of its family", () =>
    Effect.gen(function*() {
      const renderer = yield* phi4Mini(tokenizer)
      const prompt = yield* renderer.generationPrompt([Message.system("Be brief."), Message.user("2 + 2?")])
      assert.strictEqual(
        tokenizer.decode(yield* ModelInput.toTokens(prompt)),
        "<|system|>Be brief.<|end|><|user|>2 + 2?<|end|><|assistant|>"
      )
    }))

  it.effect("refuses a tokenizer that lacks a mark", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(phi4Mini(TestTokenizer.characters))
      assert.strictEqual(message, "renderer \"phi4_mini\": the tokenizer has no <|end|>")
    }))
})
