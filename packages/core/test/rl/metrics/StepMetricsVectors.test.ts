import { EnvMetric, Loss } from "@effect-rl/core"
import { Objective } from "@effect-rl/core/losses"
import type { GroupResult } from "@effect-rl/core/program"
import * as StepMetrics from "@effect-rl/core/rl/metrics/StepMetrics"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as Golden from "../../learn/Golden.ts"
import * as Samples from "../../learn/Samples.ts"

const failureOf = (type: string): GroupResult.FailureTag =>
  type === "RuntimeError" ? "StepFailed" : type === "TimeoutError" ? "PolicyFailed" : "TimedOut"

const report = (type: string): GroupResult.FailureReport => ({
  member: 0,
  attempt: 0,
  failure: failureOf(type),
  message: type
})

/** Flags that tinker-cookbook averages over the episodes that set them; here they are rates. */
const isFlag = (name: string) =>
  /^(stop\/.*|parse_error(_masked)?|max_turns|max_tool_calls|context_overflow|zero_reward_on_limit)$/.test(name)

const toMetrics = (metrics: Readonly<Record<string, number>>): EnvMetric.Metrics =>
  Object.fromEntries(
    Object.entries(metrics).map((
      [name, value]
    ) => [name, isFlag(name) ? EnvMetric.rate(value > 0) : EnvMetric.mean(value)])
  )

const toGroup = (recorded: Golden.RolledOut): GroupResult.GroupResult =>
  Samples.group(
    Samples.totals({
      step_rewards: recorded.trajectories.map(({ transitions }) => transitions.map(({ reward }) => reward)),
      final_rewards: recorded.final_rewards
    }),
    {
      tags: recorded.tags,
      members: recorded.trajectories.map(({ transitions }) =>
        Option.some(Samples.trajectory(...transitions.map((turn) =>
          Samples.turn(Array<number>(turn.ob_length).fill(1), Array<number>(turn.action_length).fill(2), undefined, {
            metrics: toMetrics(turn.metrics)
          })
        )))
      ),
      metricsG: recorded.group_metrics.map(toMetrics),
      retried: recorded.rollout_errors.map(({ error_type }) =>
        report(error_type)
      )
    }
  )

describe("StepMetrics.rollouts compared with tinker-cookbook", () => {
  /** Whether the cookbook recorded 0 for a division of zero by zero. */
  const isUndefined = (name: string, recorded: Readonly<Record<string, number>>) => {
    const prefix = name.split("/").slice(0, 2).join("/")
    return (name.endsWith("tokens_per_turn") && recorded[`${prefix}/total_turns`] === 0) ||
      (/(turns_per_episode|reward\/total|frac_\w+)$/.test(name) && recorded[`${prefix}/total_episodes`] === 0)
  }

  /** The share of episodes that set the flag among those whose group has the tag. */
  const shareOf = (name: string, groups: ReadonlyArray<Golden.RolledOut>) => {
    const [, tag = "", flag = ""] = /^env\/([^/]+)\/(.+)$/.exec(name) ?? []
    const episodes = groups
      .filter(({ tags }) => tag === "all" || tags.includes(tag))
      .flatMap(({ group_metrics, trajectories }) =>
        trajectories.map((
          { transitions },
          member
        ) => [...transitions.map(({ metrics }) => metrics), group_metrics[member]])
      )
    return episodes.filter((reports) => reports.some((metrics) => (metrics?.[flag] ?? 0) > 0)).length / episodes.length
  }

  it.each(Golden.metrics)("has the same numbers, except for rates, which count every episode ($id)", (recorded) => {
    const rolledOut = recorded.input.groups.flatMap((group) => "skipped" in group ? [] : [group])
    const failed = recorded.input.groups.filter((group) => "skipped" in group && group.skipped === "failed")
    const numbers = StepMetrics.rollouts([...rolledOut.map(toGroup), ...failed.map(() => Samples.skipped(2))])
    const expected = recorded.expect.trajectory_metrics
    const defects = new Set(recorded.known_defect_keys)
    for (const [name, value] of Object.entries(expected)) {
      if (isUndefined(name, expected)) assert.notProperty(numbers, name)
      else if (defects.has(`trajectory_metrics:${name}`)) {
        assert.closeTo(numbers[name] ?? NaN, shareOf(name, rolledOut), 1e-12, name)
      } else assert.isTrue(Golden.isClose(numbers[name], value, value), `${name}: ${numbers[name]} vs ${value}`)
    }
    const tagsOf = (record: Readonly<Record<string, number>>) =>
      new Set(Object.keys(record).flatMap((name) => /^env\/([^/]+)\//.exec(name)?.[1] ?? []))
    assert.deepStrictEqual(tagsOf(numbers), tagsOf({ ...expected, "env/all/total_turns": 0 }))
  })

  it.each(Golden.metrics)("counts the same failures by kind, and each failed group as skipped ($id)", (recorded) => {
    const rolledOut = recorded.input.groups.flatMap((group) => "skipped" in group ? [] : [group])
    const failed = recorded.input.groups.filter((group) => "skipped" in group && group.skipped === "failed")
    const numbers = StepMetrics.rollouts([...rolledOut.map(toGroup), ...failed.map(() => Samples.skipped(2))])
    for (const [name, value] of Object.entries(recorded.expect.rollout_error_metrics)) {
      const [, type = ""] = name.split("/")
      if (type === "groups_skipped") assert.strictEqual(numbers[name] ?? 0, failed.length)
      else if (type === "total") assert.strictEqual(numbers[name] ?? 0, value)
      else assert.strictEqual(numbers[`rollout_errors/${failureOf(type)}`], value)
    }
  })
})

describe("StepMetrics.learning compared with tinker-cookbook", () => {
  it.each(Golden.shifts)("measures the distance of trainer and sampler like tinker-cookbook ($id)", (recorded) => {
    const data = recorded.input.datums.map(Samples.datum)
    const numbers = StepMetrics.learning(
      data,
      Samples.answers(data, recorded.input.training_logprobs.map((logprobs) => Float32Array.from(logprobs))),
      Objective.from(Loss.importanceSampling)
    )
    if ("metrics" in recorded.expect) {
      for (const [name, value] of Object.entries(recorded.expect.metrics)) {
        assert.isTrue(Golden.isClose(numbers[name], value, value), `${name}: ${numbers[name]} vs ${value}`)
      }
    } else {
      assert.strictEqual(recorded.expect.error, "no_action_tokens")
      assert.strictEqual(numbers["optim/action_tokens"], 0)
      assert.notProperty(numbers, "optim/kl_sample_train_v1")
      assert.notProperty(numbers, "optim/ratio_max")
    }
  })
})
