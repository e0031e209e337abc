import * as Cost from "@effect-rl/tinker/server/Cost"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const asked = { field: "num_samples", samples: 3, promptLength: 10, maxTokens: 100 }

describe("the cost of a sampling request", () => {
  it.effect("counts sampled tokens, the prompt, and the requested candidates at each position", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Cost.of(asked), 3 * 100 + 10)
      assert.strictEqual(yield* Cost.of({ ...asked, topkPromptLogprobs: 2 }), 3 * 100 + 10 * 3)
      assert.strictEqual(yield* Cost.of({ ...asked, topkSampleLogprobs: 2 }), 3 * 100 + 10 + 2 * (3 * 100 + 3 * 10))
    }))

  it.effect("is refused only if it exceeds the limit", () =>
    Effect.gen(function*() {
      const most = { ...asked, samples: 128, promptLength: 2, maxTokens: 32_767 }
      const longest = { ...most, promptLength: Cost.mostTokens - 128 * 32_767 }
      assert.strictEqual(yield* Cost.of(longest), Cost.mostTokens)
      const refusal = yield* Effect.flip(Cost.of({ ...longest, promptLength: longest.promptLength + 1 }))
      assert.include(refusal.detail, String(Cost.mostTokens))
    }))
})
