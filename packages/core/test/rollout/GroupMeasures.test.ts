import { EnvMetric } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupMeasures } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"

const turn = (metrics: EnvMetric.Metrics, logprobs: ReadonlyArray<number>): Trajectory.Transition => ({
  observation: ModelInput.fromTokens([1]),
  action: {
    tokens: Int32Array.from(logprobs, () => 7),
    logprobs: Float32Array.from(logprobs),
    stopReason: "stop"
  },
  reward: 0,
  trainable: true,
  metrics,
  logs: {}
})

const member = (task: Trajectory.Trajectory["task"], ...transitions: ReadonlyArray<Trajectory.Transition>) =>
  Option.some<Trajectory.Trajectory>({
    transitions,
    stepReward: 0,
    stopReason: Option.some("completed"),
    truncations: 0,
    ...(task !== undefined && { task })
  })

const group = (
  members: GroupResult.Group["members"],
  metricsG: ReadonlyArray<EnvMetric.Metrics> = members.map(() => ({}))
): GroupResult.Partial => ({
  _tag: "Partial",
  iteration: 0,
  key: "sums/3",
  tags: [],
  samplerStep: 0,
  members,
  rewardsG: Float64Array.from(members, () => 1),
  metricsG,
  retried: [],
  dropped: []
})

describe("GroupMeasures.of", () => {
  it("sums a metric over turns and graders, and counts the turns in which a condition holds", () => {
    const played = member(
      undefined,
      turn({ tool_errors: EnvMetric.sum(2), correct: EnvMetric.rate(false) }, [-1, -3]),
      turn({ tool_errors: EnvMetric.sum(1), correct: EnvMetric.rate(true) }, [-2, NaN])
    )
    const { members, names } = GroupMeasures.of(
      group([played, Option.none(), member(undefined)], [
        { judge_score: EnvMetric.mean(1 / 3), tool_errors: EnvMetric.sum(1) },
        {},
        { constructor: EnvMetric.mean(NaN) }
      ])
    )
    assert.deepStrictEqual(names, ["constructor", "correct", "judge_score", "surprise", "tool_errors"])
    assert.deepStrictEqual(members, [[null, 1, 0.333333, 2, 4], null, [null, null, null, null, null]])
  })

  it("names the problem by the question of its first member, or by the group's key", () => {
    const asked = member({ question: "1 + 1", reference: "2" }, turn({}, [-1]))
    assert.deepStrictEqual(GroupMeasures.of(group([Option.none(), asked])).problem, {
      question: "1 + 1",
      reference: "2"
    })
    assert.deepStrictEqual(GroupMeasures.of(group([member(undefined)])).problem, { question: "sums/3", reference: "" })
  })

  it("cuts long questions, and tells those apart that differ only after the cut", () => {
    const [one, other] = ["a", "b"].map((end) =>
      GroupMeasures.of(group([member({ question: "x".repeat(400) + end }, turn({}, []))])).problem
    )
    assert.strictEqual(one?.question, "x".repeat(300))
    assert.strictEqual(other?.question, one?.question)
    assert.notStrictEqual(other?.digest, one?.digest)
  })
})
