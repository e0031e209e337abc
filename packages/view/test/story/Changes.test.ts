import * as Changes from "@effect-rl/view/story/Changes"
import { assert, describe, it } from "@effect/vitest"

describe("the changes between iterations", () => {
  it("are the reward, then the largest changes: the difference of a fraction, or half of the relative change of another metric", () => {
    const before = {
      reward: 0.5,
      "env/all/truncated": 0,
      "env/all/response_tokens/p50": 100,
      "env/all/correct": 0.5,
      "env/sums/reward/total": 0.5,
      "optim/entropy": 0.305
    }
    const now = {
      reward: 0.4,
      "env/all/truncated": 0.3,
      "env/all/response_tokens/p50": 150,
      "env/all/correct": 0.4,
      "env/sums/reward/total": 0.75,
      "optim/entropy": 0.3
    }
    assert.deepStrictEqual(Changes.of(before, now).map(({ name }) => name), [
      "reward",
      "env/all/truncated",
      "env/sums/reward/total",
      "env/all/response_tokens/p50",
      "env/all/correct"
    ])
    assert.deepStrictEqual(Changes.of(before, now, 1).map(({ before, now }) => [before, now]), [[0.5, 0.4], [0, 0.3]])
  })

  it("leave out counts, metrics of only one iteration, and values that are not numbers", () => {
    assert.deepStrictEqual(
      Changes.of(
        { "env/all/total_turns": 10, "optim/lr": 1, "env/all/correct": null, nll: 2 },
        { "env/all/total_turns": 20, "optim/lr": 2, "env/all/correct": 1, "env/all/truncated": 1, nll: 1 }
      ),
      [{ name: "nll", before: 2, now: 1 }]
    )
  })
})
