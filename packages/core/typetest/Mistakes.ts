/** Programs that must not compile. */
import { Advantage, Credit, type Env, Loss, type Policy, Rollout, type TinkerError } from "@effect-rl/core"
import type { Datum, TrainingClient } from "@effect-rl/core/backend"
import { type GroupResult, Signal, TrainingData } from "@effect-rl/core/program"
import { type Array, Effect, Schedule } from "effect"
import { browsing } from "./ScopedRetry.ts"

declare const client: TrainingClient.TrainingClient
declare const policy: Policy.Policy<TinkerError.TinkerError>
declare const policyData: Array.NonEmptyReadonlyArray<Datum.Datum<"PolicyTokens">>
declare const weightedData: Array.NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>
declare const results: ReadonlyArray<GroupResult.GroupResult>
declare const prompt: Env.Prompt
declare const estimated: Float32Array

// @ts-expect-error a policy's data do not fit a supervised loss
export const supervisedLoss = client.forwardBackward(policyData, Loss.crossEntropy)

// @ts-expect-error supervised data have no advantages
export const policyLoss = client.forward(weightedData, Loss.ppo())

// @ts-expect-error soft targets are a kind of their own
export const softLoss = client.forward(weightedData, Loss.crossEntropyCandidates)

// @ts-expect-error a custom loss reads weighted data
export const customLoss = client.forwardBackwardCustom(policyData, () => Effect.succeed({ loss: 0, gradients: [] }))

// @ts-expect-error no data, no pass
export const noData = client.forwardBackward([], Loss.ppo())

export const incomplete: unknown = Rollout.group(browsing, policy, {
  // @ts-expect-error a consequence is missing for some kinds of failure
  onFailure: { retry: Schedule.recurs(1), otherwise: { StepFailed: "drop", Died: "abort" } }
})

const [informative] = Signal.informative(results)

// @ts-expect-error there may be no informative group
export const noSignal = TrainingData.assemble(informative, Advantage.centered)

declare const constant: Signal.ConstantGroup

// @ts-expect-error a constant group is not informative
export const fromConstant = TrainingData.assemble(constant, Advantage.centered)

// @ts-expect-error only a signal makes an informative group
export const forged: Signal.InformativeGroup = { _tag: "Informative", group: constant.group }

// @ts-expect-error a result may be skipped, and then has no rewards
export const rewards = results.map((result) => result.rewardsG)

// @ts-expect-error an estimator has a name, not that of its function
export const nameless = Credit.groupRelative(() => estimated)

export const unrewarded: Env.Env = {
  initialObservation: Effect.succeed(prompt),
  // @ts-expect-error a step has a reward
  step: () => Effect.succeed({ _tag: "Done" })
}

export const undeclared: Env.Env = {
  // @ts-expect-error the environment says it cannot fail
  initialObservation: Effect.fail("no sandbox"),
  step: () => Effect.succeed({ _tag: "Done", reward: 1 })
}
