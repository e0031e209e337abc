/** Groups as rollouts leave them, written briefly. */
import { Datum, ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult, TrainingData } from "@effect-rl/core/program"
import { Effect, Option } from "effect"

type Extra = Partial<Omit<Trajectory.Transition, "observation" | "action">>

/** A turn: what was read, and what was written with which log-probabilities. */
export const turn = (
  observation: ReadonlyArray<number> | ModelInput.ModelInput,
  tokens: ReadonlyArray<number>,
  logprobs: ReadonlyArray<number> = tokens.map(() => -1),
  extra: Extra = {}
): Trajectory.Transition => ({
  observation: "chunks" in observation ? observation : ModelInput.fromTokens(observation),
  action: { tokens: Int32Array.from(tokens), logprobs: Float32Array.from(logprobs), stopReason: "stop" },
  reward: 0,
  trainable: true,
  metrics: {},
  logs: {},
  ...extra
})

export const trajectory = (...transitions: ReadonlyArray<Trajectory.Transition>): Trajectory.Trajectory => ({
  transitions,
  stepReward: transitions.reduce((total, { reward }) => total + reward, 0),
  stopReason: Option.none(),
  truncations: 0
})

/** Members of one turn with as many action tokens as given; a member without a reward was dropped. */
export const membersOfLength = (lengths: ReadonlyArray<number>, rewards: ReadonlyArray<number | undefined>) =>
  rewards.map((reward, member) =>
    reward === undefined
      ? Option.none()
      : Option.some(trajectory(turn([1, 2], Array.from({ length: lengths[member] ?? 0 }, (_, token) => token))))
  )

/** A group of the given rewards; a member without a reward was dropped. */
export const group = (
  rewards: ReadonlyArray<number | undefined>,
  overrides: Partial<GroupResult.Group> = {}
): GroupResult.GroupResult => {
  const dropped = rewards.flatMap((reward, member) =>
    reward === undefined ? [{ member, attempt: 0, failure: "StepFailed" as const, message: "lost" }] : []
  )
  const common = {
    iteration: 0,
    key: "g",
    tags: [],
    samplerStep: 0,
    members: rewards.map((reward) =>
      reward === undefined ? Option.none() : Option.some(trajectory(turn([1, 2], [3, 4])))
    ),
    rewardsG: Float64Array.from(rewards, (reward) => reward ?? NaN),
    metricsG: rewards.map(() => ({})),
    retried: [],
    ...overrides
  }
  return dropped.length === 0 ? { _tag: "Completed", ...common } : { _tag: "Partial", dropped, ...common }
}

export const skipped = (size: number, failure: GroupResult.FailureTag = "GraderFailed"): GroupResult.Skipped => ({
  _tag: "Skipped",
  iteration: 0,
  key: "s",
  tags: [],
  size,
  reason: { member: 0, attempt: 0, failure, message: "lost" },
  dropped: []
})

/** Steps in order, then the group's reward, in float64. */
export const totals = (
  { final_rewards, step_rewards }: {
    readonly step_rewards: ReadonlyArray<ReadonlyArray<number>>
    readonly final_rewards: ReadonlyArray<number>
  }
) => step_rewards.map((steps, member) => steps.reduce((sum, step) => sum + step, 0) + (final_rewards[member] ?? 0))

interface Positions {
  readonly logprobs: ReadonlyArray<number>
  readonly advantages?: ReadonlyArray<number>
  readonly mask?: ReadonlyArray<number>
}

/** A datum of the first member whose target tokens do not matter. */
export const datum = (
  { logprobs, mask = logprobs.map(() => 1), advantages = mask }: Positions
): TrainingData.TrainingDatum => ({
  ...Datum.policyTokens(ModelInput.fromTokens(logprobs.map(() => 1)), {
    targetTokens: Int32Array.from(logprobs),
    logprobs: Float32Array.from(logprobs),
    advantages: Float32Array.from(advantages),
    mask: Float32Array.from(mask)
  }),
  origin: { iteration: 0, group: "g", member: 0, turns: [0], segment: 0, samplerStep: 0 }
})

/** Answers of a pass over the data, in their order. */
export const answers =
  (data: ReadonlyArray<TrainingData.TrainingDatum>, logprobs: ReadonlyArray<Float32Array>) =>
  (datum: Datum.Datum<Datum.Kind>): Float32Array | undefined => logprobs[data.findIndex((other) => other === datum)]

/** A client that answers with known log-probabilities, by a sequence or its place among the requests, and what it was asked. */
export const scorer = (
  logprobsOf: (tokens: ReadonlyArray<number>, place: number) => ReadonlyArray<number | null>
) => {
  const asked: Array<ReadonlyArray<number>> = []
  const client: SamplingClient.SamplingClient = {
    modelPath: "recorded",
    sample: () => Effect.die(new Error("nothing is sampled")),
    computeLogprobs: (prompt) =>
      Effect.map(Effect.orDie(ModelInput.toTokens(prompt)), (sequence) => {
        const tokens = Array.from(sequence)
        const logprobs = logprobsOf(tokens, asked.length)
        asked.push(tokens)
        return Float32Array.from(logprobs, (logprob) => logprob ?? NaN)
      })
  }
  return { asked, client }
}
