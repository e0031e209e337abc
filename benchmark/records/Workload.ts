/** Recorded groups of scripted rollouts, created one at a time to bound memory. */
import type { RunRecord } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Seed, type Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupMeasures } from "@effect-rl/core/records"
import { Option } from "effect"

export const rollouts = 100_000
export const groupSize = 8
export const turns = 4
export const sampledTokens = 64
const promptTokens = 100
const observedTokens = 20
const vocabulary = 150_000

export const groups = rollouts / groupSize

/** Number of groups in an iteration. */
export const perIteration = 100

/** Number of groups to grade again: those of 10,000 rollouts. */
export const regraded = 10_000 / groupSize

const tokens = (length: number, next: () => number) =>
  Int32Array.from({ length }, () => Math.floor(next() * vocabulary))

const member = (first: Int32Array, next: () => number): Trajectory.Trajectory => {
  let prompt = first
  const transitions = Array.from({ length: turns }, (_, turn): Trajectory.Transition => {
    const sampled = tokens(sampledTokens, next)
    const observation = ModelInput.fromTokens(prompt)
    prompt = Int32Array.of(...prompt, ...sampled, ...tokens(observedTokens, next))
    return {
      observation,
      action: {
        tokens: sampled,
        logprobs: Float32Array.from({ length: sampledTokens }, () => Math.log(next())),
        stopReason: "stop"
      },
      reward: turn === turns - 1 ? Math.round(next()) : 0,
      trainable: true,
      metrics: { format: { kind: "rate", hit: next() < 0.9 } },
      logs: { answer: `The answer of turn ${turn} is ${Math.floor(next() * 1000)}.` },
      times: { began: 1.8e12 + turn * 1000, sampling: 900, environment: 100 }
    }
  })
  const stepReward = transitions.reduce((sum, { reward }) => sum + reward, 0)
  return { transitions, stepReward, stopReason: Option.some("completed"), truncations: 0 }
}

/** The group with this index. Equal indexes give equal groups. */
export const group = (index: number): GroupResult.Completed => {
  const next = Seed.uniform(index)
  const first = tokens(promptTokens, next)
  const members = Array.from({ length: groupSize }, () => member(first, next))
  return {
    _tag: "Completed",
    iteration: Math.floor(index / perIteration),
    key: `problem/${index}`,
    tags: ["benchmark"],
    samplerStep: Math.floor(index / perIteration),
    members: members.map(Option.some),
    rewardsG: Float64Array.from(members, ({ stepReward }) => stepReward),
    metricsG: members.map(() => ({})),
    retried: []
  }
}

/** The record of a group. */
export const record = (group: GroupResult.Completed): RunRecord.Entry => ({
  _tag: "GroupRolledOut",
  iteration: group.samplerStep,
  step: group.samplerStep,
  key: group.key,
  tags: group.tags,
  outcome: "Completed",
  rewards: Array.from(group.rewardsG),
  members: Array.from(group.rewardsG, () => ({
    turns,
    sampled: turns * sampledTokens,
    observed: turns * promptTokens,
    stopReason: "completed",
    truncated: false
  })),
  failures: [],
  retries: 0,
  milliseconds: 1,
  times: { sampling: groupSize * turns * 900, environment: groupSize * turns * 100, grading: 0 },
  measures: GroupMeasures.of(group),
  spent: { prefilled: 0, sampled: 0, trained: 0 }
})
