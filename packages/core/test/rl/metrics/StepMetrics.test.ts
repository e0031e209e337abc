import { type Credit, EnvMetric } from "@effect-rl/core"
import { Branch, type Trajectory } from "@effect-rl/core/environments"
import type { GroupResult, TrainingData } from "@effect-rl/core/program"
import * as StepMetrics from "@effect-rl/core/rl/metrics/StepMetrics"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as Samples from "../../learn/Samples.ts"

const write = (tokens: number, extra: Partial<Trajectory.Transition> = {}) =>
  Samples.turn([1, 2, 3], Array<number>(tokens).fill(7), undefined, extra)

const ending = (
  stopReason: Trajectory.Trajectory["stopReason"],
  ...transitions: ReadonlyArray<Trajectory.Transition>
): Trajectory.Trajectory => ({ ...Samples.trajectory(...transitions), stopReason })

const members = (...trajectories: ReadonlyArray<Trajectory.Trajectory>) => trajectories.map(Option.some)

describe("StepMetrics.rollouts", () => {
  it("reports the reward over all samples, with its standard error over groups", () => {
    const numbers = StepMetrics.rollouts([Samples.group([1, 1]), Samples.group([0, 0]), Samples.group([1, 0])])
    assert.strictEqual(numbers["env/all/reward/total"], 0.5)
    assert.closeTo(numbers["env/all/reward/standard_error"] ?? NaN, Math.sqrt(0.25 / 3), 1e-12)
    assert.notProperty(StepMetrics.rollouts([Samples.group([1, 0])]), "env/all/reward/standard_error")
  })

  it("weighs members instead of groups if sizes differ, also in the standard error", () => {
    const numbers = StepMetrics.rollouts([Samples.group([1, 1, 1]), Samples.group([0])])
    assert.strictEqual(numbers["env/all/reward/total"], 0.75)
    assert.closeTo(numbers["env/all/reward/standard_error"] ?? NaN, Math.sqrt(2 * (0.75 ** 2 + 0.75 ** 2)) / 4, 1e-12)
  })

  it("reports metrics per tag if some groups lack a tag", () => {
    const tagged = (tags: ReadonlyArray<string>, reward: number) => Samples.group([reward, reward], { tags })
    const numbers = StepMetrics.rollouts([tagged(["math", "hard"], 1), tagged(["math"], 0)])
    assert.deepInclude(numbers, { "env/math/reward/total": 0.5, "env/hard/reward/total": 1 })
    const alike = StepMetrics.rollouts([tagged(["math"], 1), tagged(["math"], 0)])
    assert.notProperty(alike, "env/math/reward/total")
  })

  it("reports the reward with lost members counted as 0", () => {
    const numbers = StepMetrics.rollouts([Samples.group([1, undefined]), Samples.group([1, 0]), Samples.skipped(4)])
    assert.closeTo(numbers["env/all/reward/total"] ?? NaN, 2 / 3, 1e-12)
    assert.strictEqual(numbers["env/all/reward/lost_as_zero"], 2 / 8)
  })

  it("counts turns that rewrote sampled tokens by the environment's reason, and truncated turns per episode", () => {
    const rewrites = ending(
      Option.none(),
      write(1),
      write(1, { branch: Branch.anew("edit") }),
      write(1, { branch: Branch.anew("renderer") }),
      write(1, { branch: Branch.anew("edit") })
    )
    const cut = { ...ending(Option.none(), write(1)), truncations: 3 }
    const numbers = StepMetrics.rollouts([Samples.group([1, 0], { members: members(rewrites, cut) })])
    assert.deepInclude(numbers, {
      "env/all/branches/edit": 2,
      "env/all/branches/renderer": 1,
      "env/all/truncations_per_episode": 1.5
    })
    assert.notProperty(numbers, "env/all/branches/response")
  })

  it("computes rates over all episodes, even for metrics that only some report", () => {
    const hit = { correct: EnvMetric.rate(true), format: EnvMetric.rate(true) }
    const miss = { correct: EnvMetric.rate(false), format: EnvMetric.rate(true) }
    const cut = { ...write(5), action: { ...write(5).action, stopReason: "length" as const } }
    const numbers = StepMetrics.rollouts([
      Samples.group([1, 0, 0, 0], {
        members: members(
          ending(Option.some("completed"), write(5, { metrics: hit })),
          ending(Option.some("completed"), write(5, { metrics: miss })),
          ending(Option.some("max_tokens"), cut),
          ending(Option.none())
        )
      })
    ])
    assert.strictEqual(numbers["env/all/correct"], 1 / 4)
    assert.strictEqual(numbers["env/all/format"], 2 / 4)
    assert.strictEqual(numbers["env/all/truncated"], 1 / 4)
    assert.strictEqual(numbers["env/all/stop/completed"], 2 / 4)
    assert.strictEqual(numbers["env/all/stop/max_tokens"], 1 / 4)
  })

  it("reports the share of attempts that repeat an earlier attempt of their group", () => {
    const numbers = StepMetrics.rollouts([
      Samples.group([1, 0, 0], {
        members: members(
          ending(Option.none(), write(5)),
          ending(Option.none(), write(5)),
          ending(Option.none(), write(6))
        )
      }),
      Samples.group([1], { members: members(ending(Option.none(), write(5))) })
    ])
    assert.strictEqual(numbers["env/all/duplicates"], 1 / 4)
  })

  it("reports quantiles of the tokens per episode", () => {
    const lengths = Array.from({ length: 101 }, (_, index) => 100 - index)
    const numbers = StepMetrics.rollouts([
      Samples.group(lengths, { members: lengths.map((length) => Option.some(Samples.trajectory(write(length)))) })
    ])
    assert.strictEqual(numbers["env/all/response_tokens/p50"], 50)
    assert.strictEqual(numbers["env/all/response_tokens/p95"], 95)
    assert.strictEqual(numbers["env/all/response_tokens/max"], 100)
    assert.strictEqual(numbers["tokens/sampled"], 5050)
    assert.strictEqual(numbers["tokens/prefilled"], 303)
  })

  it("counts groups by outcome, and lost members by reason", () => {
    const numbers = StepMetrics.rollouts([
      Samples.group([1, 0], { retried: [{ member: 0, attempt: 0, failure: "PolicyFailed", message: "refused" }] }),
      Samples.group([1, 0, undefined, undefined]),
      Samples.group([1, 1]),
      Samples.group([0, 0]),
      Samples.skipped(2, "GraderFailed"),
      Samples.skipped(2, "AcquireFailed")
    ])
    const counts = Object.fromEntries(
      Object.entries(numbers).filter(([name]) => /^(groups|members|rollout_errors)\//.test(name))
    )
    assert.deepStrictEqual(counts, {
      "groups/total": 6,
      "groups/informative": 2,
      "groups/all_good": 1,
      "groups/all_bad": 1,
      "groups/partial": 1,
      "groups/skipped": 2,
      "groups/skipped/GraderFailed": 1,
      "groups/skipped/AcquireFailed": 1,
      "members/started": 14,
      "members/lost": 6,
      "members/lost/StepFailed": 2,
      "members/lost/GraderFailed": 2,
      "members/lost/AcquireFailed": 2,
      "members/dropped": 2,
      "members/dropped/StepFailed": 2,
      "rollout_errors/StepFailed": 2,
      "rollout_errors/PolicyFailed": 1,
      "rollout_errors/total": 3,
      "rollout_errors/groups_skipped": 2
    })
  })

  it("omits undefined metrics instead of reporting 0 or NaN", () => {
    for (
      const results of [[], [Samples.skipped(2)], [
        Samples.group([0, 0], { members: members(ending(Option.none()), ending(Option.none())) })
      ]]
    ) {
      for (const [name, value] of Object.entries(StepMetrics.rollouts(results))) {
        assert.isTrue(Number.isFinite(value), name)
      }
    }
    assert.notProperty(StepMetrics.rollouts([]), "env/all/reward/total")
    assert.notProperty(StepMetrics.rollouts([]), "env/all/by_group/frac_mixed")
    assert.notProperty(StepMetrics.rollouts([]), "env/all/truncated")
    assert.notProperty(StepMetrics.rollouts([]), "rollout_errors/total")
  })

  it("does not let an environment overwrite a run metric", () => {
    const metrics = { "reward/total": EnvMetric.mean(99), total_turns: EnvMetric.mean(99) }
    const numbers = StepMetrics.rollouts([
      Samples.group([1, 0], {
        members: members(Samples.trajectory(write(1, { metrics })), Samples.trajectory(write(1)))
      })
    ])
    assert.strictEqual(numbers["env/all/reward/total"], 0.5)
    assert.strictEqual(numbers["env/all/total_turns"], 2)
  })
})

const credited = (
  result: GroupResult.GroupResult,
  data: ReadonlyArray<TrainingData.TrainingDatum>
): Credit.GroupCredit => ({
  result,
  verdict: data.length > 0 ? "informative" : "constant",
  advantagesG: new Float32Array(),
  data
})

describe("StepMetrics.trained", () => {
  it("counts the groups and episodes that pass the filter", () => {
    const numbers = StepMetrics.trained([
      credited(Samples.group([1, 1]), []),
      credited(Samples.group([1, 0]), [Samples.datum({ logprobs: [0] })]),
      credited(Samples.group([0, undefined, 1, 1]), [Samples.datum({ logprobs: [0] })])
    ])
    assert.strictEqual(numbers["train/groups"], 2)
    assert.strictEqual(numbers["train/episodes"], 5)
    assert.strictEqual(numbers["train/reward/total"], 0.6)
    // The groups' residual sums are 1 − 2·0.6 and 2 − 3·0.6.
    assert.closeTo(numbers["train/reward/standard_error"] ?? NaN, Math.sqrt(2 * (0.04 + 0.04)) / 5, 1e-12)
    assert.deepStrictEqual(StepMetrics.trained([]), {
      "train/groups": 0,
      "train/discarded_groups": 0,
      "train/discarded_tokens": 0,
      "train/episodes": 0
    })
  })
})
