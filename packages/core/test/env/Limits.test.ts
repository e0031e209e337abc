import { Limits } from "@effect-rl/core"
import { StopReason, TerminationReward } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Schema } from "effect"

const counts = ["maxTurns", "maxTrajectoryTokens", "maxSampledTokens", "maxTurnTokens", "maxToolCalls"] as const
const times = ["rolloutTimeout", "turnTimeout", "stepTimeout"] as const

describe("Limits.checks", () => {
  const invalid = (limits: Limits.Limits) => Limits.checks(limits, "limits.").filter(({ holds }) => !holds)

  it("accepts limits that were left out", () => {
    assert.deepStrictEqual(Limits.unlimited, {})
    assert.deepStrictEqual(invalid({}), [])
  })

  it.each(counts)("%s is a whole number of at least 1", (field) => {
    for (const found of [0, -1, 1.5, NaN, Infinity]) {
      assert.deepStrictEqual(invalid({ [field]: found }), [
        { field: `limits.${field}`, found, expected: "a whole number of at least 1", holds: false }
      ])
    }
    assert.deepStrictEqual(invalid({ [field]: 1 }), [])
  })

  it.each(times)("%s is a time above 0", (field) => {
    for (const found of [0, -0.5, "0 seconds", NaN] as const) {
      assert.deepInclude(invalid({ [field]: found })[0], { field: `limits.${field}`, found })
    }
    assert.deepStrictEqual(invalid({ [field]: 0.1 }), [])
    assert.deepStrictEqual(invalid({ [field]: "2 minutes" }), [])
  })
})

describe("Limits.tighter", () => {
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

  it.prop("takes the smaller limit of each pair", [Some, Some], ([left, right]) => {
    const both = Limits.tighter(left, right)
    for (const field of [...counts, ...times]) {
      assert.strictEqual(valueOf(both[field]), Math.min(valueOf(left[field]), valueOf(right[field])), field)
      assert.strictEqual(Object.hasOwn(both, field), Object.hasOwn(left, field) || Object.hasOwn(right, field))
    }
  })
})

describe("Limits.turnTokens", () => {
  const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  const Budget = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))

  it.prop(
    "never exceeds an unspent budget, and is at least 1",
    [Budget, Budget, Budget, Tokens, Tokens],
    ([maxTrajectoryTokens, maxSampledTokens, maxTurnTokens, observed, sampled]) => {
      const limits = { maxTrajectoryTokens, maxSampledTokens, maxTurnTokens }
      if (Limits.exhausted(limits, observed, sampled) !== undefined) return
      const most = Limits.turnTokens(limits, observed, sampled) ?? Infinity
      assert.isAtLeast(most, 1)
      assert.isAtMost(observed + most, maxTrajectoryTokens)
      assert.isAtMost(sampled + most, maxSampledTokens)
      assert.isAtMost(most, maxTurnTokens)
    }
  )
})

it("the stop reasons that belong to limits are the five listed ones, in this order", () => {
  assert.deepStrictEqual(TerminationReward.limitStopReasons, [
    "max_tokens",
    "max_sampled_tokens",
    "max_turns",
    "max_tool_calls",
    "rollout_timeout"
  ])
})

it("the stop reasons are the ten listed ones", () => {
  assert.deepStrictEqual(StopReason.StopReason.literals, [
    "completed",
    "tool_stopped",
    "max_turns",
    "max_tokens",
    "max_sampled_tokens",
    "max_tool_calls",
    "context_overflow",
    "parse_error",
    "rollout_timeout",
    "idle_timeout"
  ])
})
