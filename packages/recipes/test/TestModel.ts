/** A ChatML model with one token per character. */
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { Effect } from "effect"

export const tokenizer = TestTokenizer.characters

export const model = Effect.map(Renderers.byName("qwen3_disable_thinking", tokenizer), (renderer) => ({
  name: "effect-rl/scripted",
  tokenizer,
  renderer,
  capabilities: {
    contextLength: 4096,
    lossReduction: "token-sum" as const,
    seeds: "sample" as const,
    promptLogprobs: true,
    topkPromptLogprobs: 0,
    loraRank: [1, 128] as const
  }
}))
