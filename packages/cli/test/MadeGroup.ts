/** Groups that are written by hand, to be recorded. */
import type { Env } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult } from "@effect-rl/core/program"
import { Option } from "effect"

/** What a turn adds to an empty one. */
export type Said = Partial<Trajectory.Transition>

const turn = (said: Said): Trajectory.Transition => ({
  observation: ModelInput.empty,
  action: { tokens: new Int32Array(), logprobs: new Float32Array(), stopReason: "stop" },
  reward: 0,
  trainable: true,
  metrics: {},
  logs: {},
  ...said
})

/** A group of one member with these turns and a reward of 1. */
export const groupOf = (
  key: string,
  task: Env.Task | undefined,
  ...turns: ReadonlyArray<Said>
): GroupResult.GroupResult => ({
  _tag: "Completed",
  iteration: 0,
  key,
  tags: [],
  samplerStep: 0,
  members: [Option.some({
    transitions: turns.map(turn),
    stepReward: 1,
    stopReason: Option.none(),
    truncations: 0,
    ...(task !== undefined && { task })
  })],
  rewardsG: Float64Array.of(1),
  metricsG: [{}],
  retried: []
})
