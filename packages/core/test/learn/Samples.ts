/** Short constructors for groups as rollouts return them. */
import { Datum, ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { GroupResult, TrainingData } from "@effect-rl/core/program"
import { Effect, Option } from "effect"

type Extra = Partial<Omit<Trajectory.Transition, "observation" | "action">>

/** A turn: the tokens read, and the tokens written with their log-probabilities. */
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

/** Single-turn members with the given numbers of action tokens. A member without a reward was dropped. */
export const membersOfLength = (lengths: ReadonlyArray<number>, rewards: ReadonlyArray<number | undefined>) =>
  rewards.map((reward, member) =>
    reward === undefined
      ? Option.none()
      : Option.some(trajectory(turn([1, 2], Array.from({ length: lengths[member] ?? 0 }, (_, token) => token))))
  )

/** A group with the given rewards. A member without a reward was dropped. */
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

/** The sum of the step rewards in order, then the group's reward, in float64. */
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

/** A datum of the first member with arbitrary target tokens. */
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

/** The answers of a pass over the data, in order. */
export const answers =
  (data: ReadonlyArray<TrainingData.TrainingDatum>, logprobs: ReadonlyArray<Float32Array>) =>
  (datum: Datum.Datum<Datum.Kind>): Float32Array | undefined => logprobs[data.findIndex((other) => other === datum)]

/** A client that answers with known log-probabilities, chosen by the sequence or the request's number, and records its requests. */
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
