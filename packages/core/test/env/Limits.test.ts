import { Limits, StopReason, TerminationReward } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Schema } from "effect"

const counts = ["maxTurns", "maxTrajectoryTokens", "maxSampledTokens", "maxTurnTokens", "maxToolCalls"] as const
const times = ["rolloutTimeout", "turnTimeout", "stepTimeout"] as const

describe("limits", () => {
  it("L1: are none unless given", () => {
    assert.deepStrictEqual(Limits.unlimited, {})
    assert.isUndefined(Limits.invalid({}))
  })

  it.each(counts)("L1: of %s are whole numbers from 1 on", (field) => {
    for (const value of [0, -1, 1.5, NaN, Infinity]) {
      assert.deepStrictEqual(Limits.invalid({ [field]: value }), {
        field,
        value: String(value),
        expected: "a whole number from 1 on"
      })
    }
    assert.isUndefined(Limits.invalid({ [field]: 1 }))
  })

  it.each(times)("L1: of %s are times above 0", (field) => {
    for (const value of [0, -0.5, "0 seconds", NaN] as const) {
      assert.deepInclude(Limits.invalid({ [field]: value }), { field, value: String(value) })
    }
    assert.isUndefined(Limits.invalid({ [field]: 0.1 }))
    assert.isUndefined(Limits.invalid({ [field]: "2 minutes" }))
  })
})

describe("the tighter of two limits", () => {
  const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
  const Some = Schema.Struct({
    maxTurns: Schema.optionalKey(Count),
    maxTrajectoryTokens: Schema.optionalKey(Count),
    maxSampledTokens: Schema.optionalKey(Count),
    maxTurnTokens: Schema.optionalKey(Count),
    maxToolCalls: Schema.optionalKey(Count),
    rolloutTimeout: Schema.optionalKey(Count),
    turnTimeout: Schema.optionalKey(Count),
    stepTimeout: Schema.optionalKey(Count)
  })

  const valueOf = (limit: Limits.Limits[keyof Limits.Limits]) =>
    limit === undefined ? Infinity : Duration.toMillis(Duration.fromInputUnsafe(limit))

  it.prop("is the smaller of each, whatever is given", [Some, Some], ([left, right]) => {
    const both = Limits.tighter(left, right)
    for (const field of [...counts, ...times]) {
      assert.strictEqual(valueOf(both[field]), Math.min(valueOf(left[field]), valueOf(right[field])), field)
      assert.strictEqual(Object.hasOwn(both, field), Object.hasOwn(left, field) || Object.hasOwn(right, field))
    }
  }, { arbitrary: { seed: 1 } })
})

describe("what a turn may sample", () => {
  const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  const Budget = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))

  it.prop(
    "never exceeds a budget that is not spent, and is at least 1",
    [Budget, Budget, Budget, Tokens, Tokens],
    ([maxTrajectoryTokens, maxSampledTokens, maxTurnTokens, observed, sampled]) => {
      const limits = { maxTrajectoryTokens, maxSampledTokens, maxTurnTokens }
      if (Limits.exhausted(limits, observed, sampled) !== undefined) return
      const most = Limits.turnTokens(limits, observed, sampled) ?? Infinity
      assert.isAtLeast(most, 1)
      assert.isAtMost(observed + most, maxTrajectoryTokens)
      assert.isAtMost(sampled + most, maxSampledTokens)
      assert.isAtMost(most, maxTurnTokens)
    },
    { arbitrary: { seed: 1 } }
  )
})

it("L3: five stop reasons are limits, in order", () => {
  assert.deepStrictEqual(TerminationReward.limitStopReasons, [
    "max_tokens",
    "max_sampled_tokens",
    "max_turns",
    "max_tool_calls",
    "rollout_timeout"
  ])
})

it("R50: there are nine stop reasons", () => {
  assert.deepStrictEqual(StopReason.StopReason.literals, [
    "completed",
    "tool_stopped",
    "max_turns",
    "max_tokens",
    "max_sampled_tokens",
    "max_tool_calls",
    "context_overflow",
    "parse_error",
    "rollout_timeout"
  ])
})
