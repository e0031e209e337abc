import { EnvGroupBuilder, type Policy, Rollout } from "@effect-rl/core"
import { Signal } from "@effect-rl/core/program"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { GuessNumberEnv } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { gigpo } from "../src/11-gigpo.ts"

const tokenizer = TestTokenizer.characters

/** Each member's guesses; 9 is correct. */
const guesses = [[7, 9], [7, 12, 9], [12, 3, 5]]

const policy: Policy.Policy = {
  act: ({ key: { member, turn } }) => {
    const tokens = tokenizer.encode(`Guess: ${guesses[member]?.[turn]}<|im_end|>`)
    return Effect.succeed({ tokens, logprobs: new Float32Array(tokens.length).fill(-1), stopReason: "stop" })
  }
}

const played = Effect.gen(function*() {
  const renderer = yield* Renderers.byName("qwen3_instruct", tokenizer)
  return yield* Rollout.group(
    EnvGroupBuilder.make({
      key: "nine",
      size: guesses.length,
      makeEnv: () => Effect.succeed(GuessNumberEnv.make({ renderer }, 9, { range: 16, maxTurns: 3 }))
    }),
    policy
  )
})

describe("11-gigpo", () => {
  it.effect("adds a turn's advantage within its state to its episode's advantage within the group", () =>
    Effect.gen(function*() {
      const [group] = Signal.informative([yield* played])
      const advantageOf = group === undefined ? () => NaN : gigpo().ofTokens?.(group) ?? (() => NaN)
      // The rewards of the episodes are 1, 1, 0; these are their normalised values.
      const episodes = [Math.SQRT1_2, Math.SQRT1_2, -Math.SQRT2]
      // The returns of the first turns are 0.95, 0.9025, 0; those of the turns in which 8 to 15 were open are 1, 0.95. Other states occur
      // once.
      const turns = [[0.7608, 1], [0.6521, -1, 0], [-1.4128, 0, 0]]
      turns.forEach((expected, member) =>
        expected.forEach((ofTurn, turn) =>
          assert.approximately(advantageOf(member, turn, 0), (episodes[member] ?? NaN) + ofTurn, 1e-4)
        )
      )
    }))
})
